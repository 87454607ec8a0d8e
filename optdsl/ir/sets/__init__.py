"""The sets that may stand after `in`: one entry each, in one file a group."""

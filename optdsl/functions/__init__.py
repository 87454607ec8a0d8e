"""The functions of the language, one entry each."""

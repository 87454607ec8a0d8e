"""The report of a run: its record, its files, its renderings, and its later verification."""

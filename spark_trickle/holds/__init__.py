"""Who must not be refreshed now, and why, as pure functions: one rule per file, and one table of them (`rules.py`)."""

"""The validity rules: which measurements count, and why the others do not."""

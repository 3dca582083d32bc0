"""The validity rules: which measurements count, and the causes why others do not."""

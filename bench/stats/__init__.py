"""Statistics over plain numbers: no records, no files."""

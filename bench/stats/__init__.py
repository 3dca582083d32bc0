"""Statistics on plain numbers, independent of records and files."""

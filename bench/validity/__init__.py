"""The validity gate: which measurements may be believed."""

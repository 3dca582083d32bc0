"""Cells: what was measured alone, over the rounds."""

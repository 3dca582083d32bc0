"""Cells: services measured alone, over the rounds."""

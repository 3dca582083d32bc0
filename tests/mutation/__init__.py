"""Decisions of the code that are broken on purpose, to see whether the unit tests notice."""

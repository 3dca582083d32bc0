"""Helpers that every other package may use; nothing here knows what a benchmark is."""

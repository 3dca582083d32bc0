"""Whole runs: what is to be compared in one, and one beside others."""

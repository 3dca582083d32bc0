"""Fault runs (tests/faults/run.sh): the moments that a seed draws, what came of one, and the table of all."""

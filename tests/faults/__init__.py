"""Fault runs (tests/faults/run.sh): drawing moments from a seed, judging each run, and the table of all."""

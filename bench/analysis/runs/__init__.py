"""Whole runs: compatibility of two runs, bisection, the host's state, use of node pairs."""

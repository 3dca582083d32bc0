"""Whole runs: compatibility, differences and trends of several runs, bisection, the host's state, use of node pairs."""

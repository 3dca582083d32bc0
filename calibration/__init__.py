"""Figures of apps whose truth is known: what a run must show of them."""

"""Slow clients: connections that send or read hardly anything."""

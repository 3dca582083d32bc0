"""Loads a block of services in turns, from inside the load generator's container."""

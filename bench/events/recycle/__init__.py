"""Recycled workers: each ends after a number of requests."""

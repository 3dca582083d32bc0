"""Idle connections: thousands of them, beside a light load."""

"""Clients that give up on slow responses, beside health checks."""

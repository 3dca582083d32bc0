"""Exhausted threads or database connections, beside health checks."""

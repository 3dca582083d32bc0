"""A run's folder: making, writing and reading it, and the provenance of its figures."""

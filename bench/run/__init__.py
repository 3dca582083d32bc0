"""A run's folder: creating, writing and reading it, and the provenance of its figures."""

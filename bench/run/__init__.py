"""A run's folder: made, written, read, and the provenance of what is in it."""

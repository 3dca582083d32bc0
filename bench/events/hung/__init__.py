"""A hung worker: SIGSTOP to one of four."""

"""A killed worker: SIGKILL to one of four."""

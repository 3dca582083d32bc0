"""A reload: the signal by which the server's documentation replaces its workers."""

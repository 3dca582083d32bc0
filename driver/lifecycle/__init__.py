"""A run from its first second to its report: the lock, signals, and what removes it if it is killed."""

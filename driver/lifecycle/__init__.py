"""A run from its first second to its report: the lock, signals, and what removes it, even if it is killed."""

"""The life of a run from start to report: its lock, signals, and the clean-up, even if it is killed."""

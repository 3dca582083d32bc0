"""The measuring loop of a run: which step comes next, what the driver needs for it, and what is recorded after it."""

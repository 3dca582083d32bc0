"""The measuring loop: which step is next, and one step."""

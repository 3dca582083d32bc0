"""A user's own app on every server: its description, its requests, and its expected responses."""

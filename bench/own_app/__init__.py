"""A user's own app on every server: what it is, what it is asked, and what its right answers are."""

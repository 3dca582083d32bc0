"""Prepares services before any load: builds, starts and verifies them, also a user's own app and running servers."""

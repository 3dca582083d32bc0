"""Prepares a run until it is planned: options, a user's own app, packages, two refs."""

"""Services before any load: built, started, verified; a user's own app; servers that already run."""

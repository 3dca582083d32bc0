"""The project: its settings, models, views and addresses."""

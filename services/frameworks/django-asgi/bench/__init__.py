"""The Django project: settings, models, views and URLs."""

"""Runs on several machines: nodes and their roles, images and files sent to them, lanes side by side."""

"""Runs on several machines: choosing them, and giving each its images, networks, files and readers of counters."""

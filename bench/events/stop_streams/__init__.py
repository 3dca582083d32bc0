"""SIGTERM while WebSockets or streams of events are open."""

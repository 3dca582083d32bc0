"""The cost of the harness itself."""

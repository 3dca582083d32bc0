"""Self-tests of the harness: runs of apps with known behaviour, and the figures that they must show."""

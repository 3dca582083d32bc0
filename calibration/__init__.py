"""Self-tests of the harness: apps of known behaviour, and the figures that a run must show for them."""

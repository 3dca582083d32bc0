"""What the loop does next, and what bash is told about it."""

"""What is said of a whole run."""

"""What is said of tables in turns."""

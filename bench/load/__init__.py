"""The code that runs in the load generator's container: loads of single services, of blocks in turns, and of events."""

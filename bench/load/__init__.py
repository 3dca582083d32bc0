"""What happens in the load generator's container: one load alone, or a block of services in turns."""

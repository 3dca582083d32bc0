"""General helpers that every other package may use; none of them is specific to benchmarking."""

"""What records say together: verdicts on pairs, cells, latency, the knee, and differences between runs."""

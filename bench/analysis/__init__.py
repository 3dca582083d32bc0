"""What many records show together: verdicts on pairs, cells, latency, the knee, differences between runs, trends."""

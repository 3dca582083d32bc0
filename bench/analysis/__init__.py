"""What many records show together: rankings, cells, latency, the knee, differences between runs, trends."""

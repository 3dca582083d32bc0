"""What many records show together: rankings, cells, latency, the knee, events, whether runs are comparable."""

"""Runs on several machines: chosen nodes, lanes in parallel, and files, images and counters over the network."""

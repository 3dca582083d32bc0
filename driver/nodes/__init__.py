"""Several machines: which they are, and what each gets: images, networks, files, and readers of its counters."""

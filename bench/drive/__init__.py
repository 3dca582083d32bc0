"""While a run goes on: what the loop does next, what the driver is told of it, and the search for a knee."""

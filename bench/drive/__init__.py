"""While a run goes on: what the loop does next, what bash is told of it, and the search for a knee."""

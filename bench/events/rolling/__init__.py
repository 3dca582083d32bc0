"""A rolling restart: two containers behind a proxy, one after the other."""

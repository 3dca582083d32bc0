"""The page, index.html: every figure is computed here; the scripts in app/ filter, sort and draw."""

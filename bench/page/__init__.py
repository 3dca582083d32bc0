"""index.html: the report as one page that asks the network for nothing."""

"""A run's records in other formats, one module each; `columns` says what is in them."""

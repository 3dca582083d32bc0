"""A run's records in other forms, one module each: `columns` says what is in them."""

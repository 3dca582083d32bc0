"""A run's records in other formats, one module each; `columns` describes the columns."""

"""A database or upstream that is down or silent, beside routes that do not need it."""

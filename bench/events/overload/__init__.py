"""An overload: up to three times the capacity."""

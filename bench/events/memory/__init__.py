"""Growth: memory over a million requests and after large bodies, file descriptors over reloads."""

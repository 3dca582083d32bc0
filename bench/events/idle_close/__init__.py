"""Kept connections that are used just when the server closes them."""

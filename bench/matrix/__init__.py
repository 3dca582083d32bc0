"""The matrix: servers, frameworks, Pythons and bases, and what is generated from them."""

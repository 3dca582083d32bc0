"""The measuring loop: choosing the next step, and measuring it."""

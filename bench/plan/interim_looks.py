"""When a pair is judged: the rounds at which its verdict may be reached."""

from __future__ import annotations

LOOKS = (8, 16, 30)
"""Numbers of rounds at which a pair may get its verdict."""

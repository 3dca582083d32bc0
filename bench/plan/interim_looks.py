"""The interim looks: the numbers of rounds at which a pair may get its verdict."""

from __future__ import annotations

LOOKS = (8, 16, 30)
"""In rounds; the last look is the end."""

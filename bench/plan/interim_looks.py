"""The interim looks: the numbers of rounds at which a table in turns may get its verdicts."""

from __future__ import annotations

LOOKS = (4, 6, 8, 12)
"""In rounds; the last look is the end."""


def table_looks(most: int) -> tuple[int, ...]:
    """The looks at a table with so many rounds at most: the last round is one, and no other less than two before it."""
    return (*(look for look in LOOKS if look <= most - 2), max(1, most))

"""The interim looks: the numbers of rounds at which a table in turns may get its verdicts."""

from __future__ import annotations

LOOKS = (6, 8, 12)
"""In rounds; the last look is the end. No verdict comes before the first: a service whose containers are of two kinds,
5 % apart, has false verdicts in 13 % of tables after four rounds, in 5 % after five, in 4.4 % after six (simulated)."""
RATED_FROM = 2
"""The first round with loads at common rates, which go on to the first look: the round before tells the speeds."""
LOOKS_BEFORE = (4, 6, 8, 12)
"""Of runs whose run.json does not name its looks."""


def table_looks(most: int) -> tuple[int, ...]:
    """The looks at a table with so many rounds at most: the last round is one, and no other less than two before it.

    With fewer rounds than the first look needs, it is not reached.
    """
    return (*(look for look in LOOKS if look <= most - 2), max(LOOKS[0], most))


def looks_before(most: int) -> tuple[int, ...]:
    """The looks of a run made before they were saved."""
    return (*(look for look in LOOKS_BEFORE if look <= most - 2), max(1, most))

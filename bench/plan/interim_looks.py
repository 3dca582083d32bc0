"""The interim looks: the numbers of rounds at which a table in turns may get its verdicts."""

from __future__ import annotations

LOOKS = (6, 8, 12)
"""In rounds; the last look is the end. There is no verdict before the first: if a service's containers come in two
kinds, 5 % apart, 13 % of tables have a false verdict after four rounds, 5 % after five, 4.4 % after six (simulated)."""
RATED = range(2, LOOKS[0] + 2)
"""The rounds with loads at common rates: round 1 measures the speeds, and verdicts need as many rounds as a first look.
In the last of them, tables of fewer rounds have no turns any more."""


def table_looks(most: int) -> tuple[int, ...]:
    """The looks at a table of at most `most` rounds: the last round, and each of `LOOKS` at least two rounds before.

    If `most` is less than the first look, there is none within the run.
    """
    return (*(look for look in LOOKS if look <= most - 2), max(LOOKS[0], most))

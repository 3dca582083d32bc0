"""Tests whether connections are distributed evenly among workers, apart from chance.

The unit is the connection, not the request: all requests of a keep-alive connection go to the same worker. Up to
`MOST_EXACT` connections the test is the exact multinomial test, above that the chi-square test. Rounds are combined by
Fisher's method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from math import factorial, prod

MOST_EXACT = 64
UNEVEN = 0.001
"""Shares are called uneven below this p value: by chance, that is one cell in twenty tables of fifty cells."""


def p_even(rounds: Sequence[tuple[int, ...]]) -> float:
    """The p value of "all workers are equally likely", from the connections per worker in each round."""
    from scipy.stats import combine_pvalues

    values = [_p_of_round(tuple(sorted(one))) for one in rounds if len(one) > 1 and any(one)]
    return float(combine_pvalues(values).pvalue) if values else 1.0


@cache
def _p_of_round(counts: tuple[int, ...]) -> float:
    from scipy.stats import chisquare, multinomial

    total, workers = sum(counts), len(counts)
    if total > MOST_EXACT:
        return float(chisquare(counts).pvalue)
    import numpy as np

    even = multinomial(total, [1 / workers] * workers)
    seen = even.pmf(counts)
    ways = [*_shared(total, workers, total)]
    each = even.pmf(np.array(ways))
    orders = np.array([factorial(workers) // prod(map(factorial, Counter(one).values())) for one in ways])
    # The tolerance keeps equally probable outcomes together despite rounding.
    return min(1.0, float((each * orders)[each <= seen * (1 + 1e-9)].sum()))


def _shared(total: int, workers: int, most: int) -> Iterator[tuple[int, ...]]:
    """All partitions of `total` into `workers` parts in descending order, the first part being at most `most`."""
    if workers == 1:
        yield (total,)
        return
    for first in range(-(-total // workers), min(total, most) + 1):
        for rest in _shared(total - first, workers - 1, first):
            yield (first, *rest)

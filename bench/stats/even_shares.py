"""Whether connections are shared among workers as chance alone would share them.

The connection is the unit, not the request: requests of a kept connection all go to its worker. Up to `MOST_EXACT`
connections the probability is that of all ways to share them that are no more probable than the one seen (the exact
multinomial test), beyond it that of the chi-square test. Rounds are put together by Fisher's method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from math import factorial, prod

MOST_EXACT = 64
UNEVEN = 0.001
"""The p value from which on shares are called uneven: by chance, one cell in twenty tables of fifty."""


def p_even(rounds: Sequence[tuple[int, ...]]) -> float:
    """The p value of "each worker is as likely as any other", from the connections of each worker in each round."""
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
    # Rounding must not tell apart what is equally probable.
    return min(1.0, float((each * orders)[each <= seen * (1 + 1e-9)].sum()))


def _shared(total: int, workers: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to share so many among so many, each without its other orders: `most` is what the first may have."""
    if workers == 1:
        yield (total,)
        return
    for first in range(-(-total // workers), min(total, most) + 1):
        for rest in _shared(total - first, workers - 1, first):
            yield (first, *rest)

"""How far services of a ranking are apart, from the verdicts on every two of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis.tables.ranking import Bounds, Contrast, Ranking
from bench.stats.table_verdicts import FASTER, SLOWER


@dataclass(frozen=True, slots=True)
class Gap:
    """How far one service is ahead of another, as a ratio - 1 with its interval; `called` if the verdict says so."""

    value: float
    bounds: Bounds | None
    called: bool

    @classmethod
    def of(cls, one: Contrast, *, turned: bool) -> Gap:
        """From a contrast, of B relative to A, or `turned`."""
        called = one.verdict in (FASTER, SLOWER) and one.interval is not None
        if not turned:
            return cls(one.difference, one.interval, called)
        bounds = one.interval and (_inverse(one.interval[1]), _inverse(one.interval[0]))
        return cls(_inverse(one.difference), bounds, called)


class Gaps:
    """The gaps of a ranking's services."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self.found = {(one.a, one.b): one for one in ranking.contrasts}

    def gap(self, better: str, worse: str) -> Gap | None:
        """How far one is ahead of another; None if they are not compared."""
        if (better, worse) in self.found:
            return Gap.of(self.found[better, worse], turned=True)
        one = self.found.get((worse, better))
        return None if one is None else Gap.of(one, turned=False)

    def apart(self, a: str, b: str) -> bool:
        """Whether the verdict tells them apart."""
        gap = self.gap(a, b)
        return gap is not None and gap.called

    def front(self, services: Sequence[str]) -> list[str]:
        """The first, and all that are not told apart from it, also behind one that is."""
        return [name for name in services if name == services[0] or not self.apart(services[0], name)]

    def alike(self, group: Sequence[str], services: Sequence[str]) -> bool:
        """Whether the group is told apart from all others, and no two of it from each other."""
        rest = [name for name in services if name not in group]
        return all(self.apart(a, b) for a in group for b in rest) and not any(
            self.apart(a, b) for a, b in combinations(group, 2)
        )

    def farthest(self, pairs: Iterable[tuple[str, str]]) -> float | None:
        """The farthest that the intervals of these pairs reach, either way; None if one of them has none."""
        bounds = [None if gap is None else gap.bounds for gap in (self.gap(a, b) for a, b in pairs)]
        ends = [max(abs(low), abs(high)) for low, high in filter(None, bounds)]
        return max(ends) if ends and len(ends) == len(bounds) else None


def _inverse(ratio: float) -> float:
    return 1 / (1 + ratio) - 1

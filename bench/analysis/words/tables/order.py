"""The order of services in words, from the verdicts on every two of them.

A difference of half as much again or more is a factor (`1.9 times`), else percent. Services that the verdicts do not
tell apart are said to be so, with how far they may be apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis.tables.metric import Metric
from bench.analysis.tables.ranking import Contrast, Ranking
from bench.core.formats import rounds_words
from bench.stats.table_verdicts import FASTER, SLOWER

FACTOR = 1.5
"""A ratio from this on is told as a factor."""
MOST_NAMES = 6
"""The most names that a sentence lists."""
CPU, REQUESTS = "CPU per request", "requests per second"
"""What there is more of: of CPU time with the worse service, of requests with the better one."""
PLURAL = " workers"


@dataclass(frozen=True, slots=True)
class Gap:
    """How far one service is ahead of another, as a ratio - 1 with its interval; `called` if the verdict says so."""

    value: float
    bounds: tuple[float, float] | None
    called: bool

    @classmethod
    def of(cls, one: Contrast, *, turned: bool) -> Gap:
        """From a contrast, of B relative to A, or `turned`."""
        called = one.verdict in (FASTER, SLOWER) and one.interval is not None
        if not turned:
            return cls(one.difference, one.interval, called)
        bounds = one.interval and (_inverse(one.interval[1]), _inverse(one.interval[0]))
        return cls(_inverse(one.difference), bounds, called)

    @property
    def is_factor(self) -> bool:
        """Whether it is told as a factor."""
        return 1 + self.value >= FACTOR

    @property
    def interval(self) -> str:
        """`10 to 14 %`, or `1.8 to 2.0` of a factor."""
        if self.bounds is None:
            return "unknown"
        low, high = self.bounds
        if self.is_factor:
            digits = _digits(1 + self.value, high - low)
            return f"{1 + low:.{digits}f} to {1 + high:.{digits}f}"
        return f"{100 * low:.{_digits_of_percent(low)}f} to {percent_words(high)}"

    @property
    def factor(self) -> str:
        """`1.9 times`."""
        low, high = self.bounds or (0.0, 1.0)
        return f"{1 + self.value:.{_digits(1 + self.value, high - low)}f} times"

    def much(self, what: str) -> str:
        """`1.9 times as much CPU per request as`, `as many requests per second as`, or `12 % more .. than`."""
        many = "as many" if what == REQUESTS else "as much"
        return f"{self.factor} {many} {what} as" if self.is_factor else f"{percent_words(self.value)} more {what} than"

    @property
    def much_cpu(self) -> str:
        """`1.9 times as much`, or `12 % more`, where CPU per request was named before."""
        return f"{self.factor} as much" if self.is_factor else f"{percent_words(self.value)} more"


class Told:
    """What a table's contrasts say of its services."""

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

    def order(self, services: Sequence[str], names: Mapping[str, str]) -> str:
        """The sentence on these services, from the best to the worst, without its full stop."""
        if not services:
            return "no service has a figure that can be ranked"
        best, worst = services[0], services[-1]
        if len(services) == 1:
            return f"only {names[best]} has a figure that can be ranked"
        gap = self.gap(best, worst)
        if self.ranking.look is None or gap is None or gap.bounds is None:
            rounds, first = self.ranking.rounds, self.ranking.looks[0]
            wanted = f", and the first look is after {first}" if rounds < first else ""
            return f"not enough data for a ranking: {rounds_words(rounds)}{wanted}"
        if len(services) == 2:
            return self.pair(best, worst, names)
        front = self.front(services)
        words = self._lead(front, services, names)
        return words if worst in front else f"{words}{self._end(front, services, names)}"

    def pair(self, one: str, other: str, names: Mapping[str, str]) -> str:
        """The sentence on two services, the better one first."""
        gap = self.gap(one, other)
        if gap is None:
            return f"{names[one]} and {names[other]} cannot be compared"
        if not gap.called:
            return f"{names[one]} and {names[other]} cannot be told apart{self._within([(one, other)])}"
        if gap.value < 0:
            return self.pair(other, one, names)
        verb = "need" if names[other].endswith(PLURAL) and " with " not in names[other] else "needs"
        if self.ranking.metric is Metric.CPU:
            return f"{names[other]} {verb} {gap.much(CPU)} {names[one]} ({gap.interval})"
        return f"{names[one]} served {gap.much(REQUESTS)} {names[other]} ({gap.interval})"

    def workers(self, one: str, other: str, models: Mapping[str, str]) -> str:
        """The sentence on two worker models of gunicorn."""
        gap = self.gap(one, other)
        if gap is None or not gap.called:
            both = f"gunicorn's {models[one]} and {models[other]} workers"
            return f"{both} cannot be told apart{self._within([(one, other)])}"
        better, worse = (one, other) if gap.value > 0 else (other, one)
        # The sentence begins with the one that has more of it: requests, or CPU time.
        first, then = (worse, better) if self.ranking.metric is Metric.CPU else (better, worse)
        return self.pair(
            better, worse, {first: f"gunicorn's {models[first]}{PLURAL}", then: f"its {models[then]}{PLURAL}"}
        )

    def _within(self, pairs: Iterable[tuple[str, str]]) -> str:
        """` (at most 2.1 % apart)`: the farthest end of the intervals of pairs that are not told apart."""
        bounds = [None if gap is None else gap.bounds for gap in (self.gap(a, b) for a, b in pairs)]
        ends = [max(abs(low), abs(high)) for low, high in filter(None, bounds)]
        return f" (at most {percent_words(max(ends))} apart)" if ends and len(ends) == len(bounds) else ""

    def front(self, services: Sequence[str]) -> list[str]:
        """The first, and all that are not told apart from it, also behind one that is."""
        return [name for name in services if name == services[0] or not self.apart(services[0], name)]

    def _alike(self, group: Sequence[str], services: Sequence[str]) -> bool:
        """Whether the group is told apart from all others, and no two of it from each other."""
        rest = [name for name in services if name not in group]
        return all(self.apart(a, b) for a in group for b in rest) and not any(
            self.apart(a, b) for a, b in combinations(group, 2)
        )

    def _lead(self, front: Sequence[str], services: Sequence[str], names: Mapping[str, str]) -> str:
        best, every = front[0], [names[name] for name in front]
        if len(front) == 1:
            gap = self.gap(best, services[1])
            assert gap is not None
            if self.ranking.metric is Metric.CPU:
                more = f"{names[services[1]]}, the next, needs {gap.much_cpu} ({gap.interval})"
                return f"{names[best]} is fastest, with the least {CPU}: {more}"
            return f"{names[best]} is fastest: {gap.much(REQUESTS)} {names[services[1]]}, the next ({gap.interval})"
        if not self._alike(front, services):
            also = self._within((best, other) for other in front[1:])
            return f"{names[best]} leads, but {listed(every[1:])} cannot be told apart from it{also}"
        also = self._within(combinations(front, 2))
        if len(front) < len(services):
            return f"{listed(every)} are fastest and cannot be told apart{also}"
        return f"{listed(every) if len(every) <= 4 else f'these {len(every)} services'} cannot be told apart{also}"

    def _end(self, front: Sequence[str], services: Sequence[str], names: Mapping[str, str]) -> str:
        best, worst, cpu = services[0], services[-1], self.ranking.metric is Metric.CPU
        gap = self.gap(best, worst)
        if gap is None or not gap.called:
            return ""
        last = [name for name in services if name not in front and (name == worst or not self.apart(name, worst))]
        if self._alike(last, services):
            ends = f"{listed([names[name] for name in last])} come{'s' * (len(last) == 1)} last"
        else:
            tied = [names[name] for name in services if name != worst and not self.apart(name, worst)]
            ends = f"{names[worst]} comes last, though {listed(tied)} cannot be told apart from it"
        it = "it" if len(last) == 1 else names[worst]
        if not cpu:
            return f"; {ends}: {names[best]} served {gap.much(REQUESTS)} {it} ({gap.interval})"
        needs = gap.much_cpu if len(front) == 1 else f"{gap.much(CPU)} {names[best]}"
        return f"; {ends}: {it} needs {needs} ({gap.interval})"


def percent_words(share: float) -> str:
    """`4.1 %`, and from ten on without a decimal."""
    return f"{100 * share:.{_digits_of_percent(share)}f} %"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`; of many the first ones, and how many more."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[: MOST_NAMES - 2])} and {len(names) - MOST_NAMES + 2} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _digits_of_percent(share: float) -> int:
    return 1 if abs(share) < 0.0995 else 0


def _digits(factor: float, width: float) -> int:
    """As many decimals as the interval has a use for."""
    if factor >= 9.95:
        return 0 if width >= 1 else 1
    return 1 if width >= 0.1 else 2


def _inverse(ratio: float) -> float:
    return 1 / (1 + ratio) - 1

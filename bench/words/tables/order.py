"""The order of services in words, from the verdicts on every two of them.

A difference of half as much again or more is a factor (`1.9 times`), else percent. Services that the verdicts do not
tell apart are said to be so, with how far they may be apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from bench.analysis.tables.gaps import Gap, Gaps
from bench.analysis.tables.metric import Metric
from bench.core.formats import listed, plural, size, size_number

FACTOR = 1.5
"""A ratio from this on is told as a factor."""
CPU, REQUESTS = "CPU per request", "requests per second"
"""What there is more of: of CPU time with the worse service, of requests with the better one."""
PLURAL = " workers"


def is_factor(gap: Gap) -> bool:
    """Whether it is told as a factor."""
    return 1 + gap.value >= FACTOR


def interval_words(gap: Gap) -> str:
    """`10 to 14 %`, or `1.8 to 2.0` of a factor."""
    if gap.bounds is None:
        return "unknown"
    low, high = gap.bounds
    if is_factor(gap):
        digits = _digits(1 + gap.value, high - low)
        return f"{1 + low:.{digits}f} to {1 + high:.{digits}f}"
    return f"{size_number(low)} to {size(high)}"


def factor_words(gap: Gap) -> str:
    """`1.9 times`."""
    low, high = gap.bounds or (0.0, 1.0)
    return f"{1 + gap.value:.{_digits(1 + gap.value, high - low)}f} times"


def much(gap: Gap, what: str) -> str:
    """`1.9 times as much CPU per request as`, `as many requests per second as`, or `12 % more .. than`."""
    many = "as many" if what == REQUESTS else "as much"
    return f"{factor_words(gap)} {many} {what} as" if is_factor(gap) else f"{size(gap.value)} more {what} than"


def much_cpu(gap: Gap) -> str:
    """`1.9 times as much`, or `12 % more`, where CPU per request was named before."""
    return f"{factor_words(gap)} as much" if is_factor(gap) else f"{size(gap.value)} more"


class Order(Gaps):
    """What a ranking's verdicts say of the order of its services."""

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
            return f"not enough data for a ranking: {plural(rounds, 'round')}{wanted}"
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
            return f"{names[other]} {verb} {much(gap, CPU)} {names[one]} ({interval_words(gap)})"
        return f"{names[one]} served {much(gap, REQUESTS)} {names[other]} ({interval_words(gap)})"

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
        most = self.farthest(pairs)
        return "" if most is None else f" (at most {size(most)} apart)"

    def _lead(self, front: Sequence[str], services: Sequence[str], names: Mapping[str, str]) -> str:
        best, every = front[0], [names[name] for name in front]
        if len(front) == 1:
            gap = self.gap(best, services[1])
            assert gap is not None
            if self.ranking.metric is Metric.CPU:
                more = f"{names[services[1]]}, the next, needs {much_cpu(gap)} ({interval_words(gap)})"
                return f"{names[best]} is fastest, with the least {CPU}: {more}"
            ahead = f"{much(gap, REQUESTS)} {names[services[1]]}, the next ({interval_words(gap)})"
            return f"{names[best]} is fastest: {ahead}"
        if not self.alike(front, services):
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
        if self.alike(last, services):
            ends = f"{listed([names[name] for name in last])} come{'s' * (len(last) == 1)} last"
        else:
            tied = [names[name] for name in services if name != worst and not self.apart(name, worst)]
            ends = f"{names[worst]} comes last, though {listed(tied)} cannot be told apart from it"
        it = "it" if len(last) == 1 else names[worst]
        if not cpu:
            return f"; {ends}: {names[best]} served {much(gap, REQUESTS)} {it} ({interval_words(gap)})"
        needs = much_cpu(gap) if len(front) == 1 else f"{much(gap, CPU)} {names[best]}"
        return f"; {ends}: {it} needs {needs} ({interval_words(gap)})"


def _digits(factor: float, width: float) -> int:
    """As many decimals as the interval has a use for."""
    if factor >= 9.95:
        return 0 if width >= 1 else 1
    return 1 if width >= 0.1 else 2

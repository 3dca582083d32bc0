"""The order of a table's services in words, from the verdicts on every two of them; releases and varied settings too.

A difference of half as much again or more is a factor (`1.9 times`), else percent. Services that the verdicts do not
tell apart are said to be so, with how far they may be apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import combinations

from bench.analysis.tables.ladder import Ladder, verdict_of
from bench.analysis.tables.ranking import Gap, Gaps, Metric
from bench.core.formats import listed, plural, size, size_number
from bench.stats.table_verdicts import FASTER, NO_DIFFERENCE, NOT_ENOUGH, SLOWER
from bench.words.names import setting_words

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


def ladder_sentence(told: Order, ladder: Ladder) -> str:
    """The steps that are real, and the one from the first to the last, in words without the full stop."""
    real, alike, open_ = [], [], 0
    for a, b in ladder.steps:
        words = _step(told, ladder, a, b)
        verdict = verdict_of(told.ranking, ladder.services[a], ladder.services[b])
        if words:
            real.append(words)
        elif verdict == NO_DIFFERENCE:
            alike.append((a, b))
        else:
            open_ += 1
    last = len(ladder.services) - 1
    parts = real or ["no step from one release to the next is shown to be real"]
    if alike:
        steps = "no other step" if real and not open_ else plural(len(alike), "step")
        shows = "shows" if steps == "no other step" or len(alike) == 1 else "show"
        what = "a difference" if steps == "no other step" else "no difference"
        parts.append(f"{steps} {shows} {what}{_step_at_most(told, ladder, alike)}")
    if open_:
        parts.append(f"of {plural(open_, 'step')} there is {NOT_ENOUGH}")
    whole = _step(told, ladder, 0, last) or f"{ladder.versions[last]} and {ladder.versions[0]} cannot be told apart"
    name = f"{ladder.package} from {ladder.versions[0]} to {ladder.versions[last]}"
    return f"{name}: {'; '.join([*parts, f'in all, {whole}'])}"


def _step(told: Order, ladder: Ladder, a: int, b: int) -> str:
    """`23.0.0 is slower than 22.0.0: it needs 3 % more CPU per request (2 to 4 %)`; empty where it is not real."""
    old, new = (ladder.versions[at] for at in (a, b))
    verdict = verdict_of(told.ranking, ladder.services[a], ladder.services[b])
    if verdict not in (FASTER, SLOWER):
        return ""
    ends = (ladder.services[a], ladder.services[b])
    gap = told.gap(*(ends if verdict == SLOWER else reversed(ends)))
    if gap is None:
        return ""
    if told.ranking.metric is Metric.CPU:
        more, subject = f"needs {much_cpu(gap)} {CPU} ({interval_words(gap)})", SLOWER
    else:
        requests = much(gap, REQUESTS).removesuffix(" than").removesuffix(" as")
        more, subject = f"served {requests} ({interval_words(gap)})", FASTER
    return f"{new} is {verdict} than {old}{': it' if verdict == subject else ', which'} {more}"


def _step_at_most(told: Order, ladder: Ladder, steps: Sequence[tuple[int, int]]) -> str:
    """` (at most 1.1 %)`: the farthest that the intervals of these steps reach."""
    most = told.farthest((ladder.services[a], ladder.services[b]) for a, b in steps)
    return "" if most is None else f" (at most {size(most)})"


Settings = Mapping[str, str]
"""Of one service: values by knob."""


def in_order(services: Sequence[str], knob: str, settings: Mapping[str, Settings]) -> list[str] | None:
    """The services from the smallest value of a knob to the largest; None where a value is no number."""
    try:
        values = {name: Decimal(settings[name][knob]) for name in services}
    except InvalidOperation:
        return None
    return sorted(services, key=lambda name: values[name])


def sweep_sentence(told: Order, services: Sequence[str], knob: str, settings: Mapping[str, Settings], who: str) -> str:
    """The sentence on one service with rising values of a knob, without its full stop; `who` names the service.

    More stop helping at the smallest value that no larger one is shown to be faster than.
    """
    words = {name: f"with {setting_words({knob: settings[name][knob]})}" for name in services}
    if len(services) == 2:
        return _pair(told, services, words, who)
    enough = next(n for n, name in enumerate(services) if not any(_faster(told, x, name) for x in services[n + 1 :]))
    best, above, below = services[enough], services[enough + 1 :], services[:enough]
    worse = [name for name in above if _faster(told, best, name)]
    parts = []
    if below:
        parts.append(_gain(told, best, below[0], words, who))
    if not above:
        return parts[0] + "; more were not measured" if parts else ""
    more = [name for name in above if name not in worse]
    subject = "it" if parts else who
    if more:
        parts.append(f"{_more(more, words)} {subject} is not shown to be faster{_at_most(told, best, more)}")
        subject = "it"
    for name in worse:
        gap = told.gap(best, name)
        assert gap is not None
        if told.ranking.metric is Metric.CPU:
            parts.append(f"{words[name]} {subject} needs {much(gap, CPU)} {words[best]} ({interval_words(gap)})")
        else:
            parts.append(f"{words[best]} {subject} served {much(gap, REQUESTS)} {words[name]} ({interval_words(gap)})")
        subject = "it"
    return "; ".join(parts)


def _pair(told: Order, services: Sequence[str], words: Mapping[str, str], who: str) -> str:
    one, other = services
    if not told.apart(one, other):
        return told.pair(one, other, {one: f"{who} {words[one]}", other: words[other]})
    better, worse = (one, other) if _faster(told, one, other) else (other, one)
    # The sentence begins with the one that has more of it: requests, or CPU time.
    begins = worse if told.ranking.metric is Metric.CPU else better
    return told.pair(
        better, worse, {name: f"{words[name]} {who}" if name == begins else words[name] for name in services}
    )


def _faster(told: Order, one: str, other: str) -> bool:
    gap = told.gap(one, other)
    return gap is not None and gap.called and gap.value > 0


def _gain(told: Order, best: str, first: str, words: Mapping[str, str], who: str) -> str:
    """How much the value at which more stop helping is ahead of the smallest one."""
    gap = told.gap(best, first)
    if gap is None or not gap.called:
        return f"{words[best]} {who} is faster than with a value between that and the smallest"
    if told.ranking.metric is Metric.CPU:
        return f"{words[first]} {who} needs {much(gap, CPU)} {words[best]} ({interval_words(gap)})"
    return f"{words[best]} {who} served {much(gap, REQUESTS)} {words[first]} ({interval_words(gap)})"


def _more(names: Sequence[str], words: Mapping[str, str]) -> str:
    return listed([words[name] for name in names])


def _at_most(told: Order, best: str, more: Sequence[str]) -> str:
    """` (at most 3.1 % faster)`: the farthest that the intervals reach."""
    gaps = [told.gap(name, best) for name in more]
    bounds = [gap.bounds for gap in gaps if gap is not None and gap.bounds is not None]
    if len(bounds) < len(more):
        return ""
    return f" (at most {size(max(0.0, *(high for _, high in bounds)))} faster)"

"""One knob over its values, in words: from which value on more of it are not shown to help. From the verdicts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

from bench.analysis.tables.metric import Metric
from bench.core.formats import listed, size
from bench.words.settings import setting_words
from bench.words.tables.order import CPU, REQUESTS, Order, interval_words, much

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

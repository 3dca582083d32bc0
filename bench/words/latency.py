"""Latency of a table at its common rate in words: which service is lowest, which may be as low, which have none."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from bench.analysis.tables.ranking import HALF, Figure, Metric, Percentile, TableLatency
from bench.core.formats import NOTHING, joined, listed, milliseconds, number, plural, size
from bench.words.changes import change_of

LOWEST, MAYBE = "lowest", "lowest?"


def latency_sentences(found: TableLatency, labels: Mapping[str, str]) -> Iterator[str]:
    """A sentence on the highest percentile that is known, then the services that have no latency."""
    if found.rate is None:
        yield f"No latency: {found.reason or 'no common rate was decided'}."
        return
    lead = f"At {rate_words(found, labels)}"
    told = found.tail
    bounds = [*_bounds([one for one in found.percentiles if one.metric in (Metric.P99, told and told.metric)], labels)]
    if told is None:
        yield f"{lead}: {'; '.join(bounds) or f'not enough data for latency{_why_none(found)}'}."
    else:
        few = told.metric is not Metric.P99 and all(one.metric is not Metric.P99 for one in found.percentiles)
        missing = f"; too few requests for {Metric.P99}" if few else ""
        yield f"{lead}: {percentile_words(told, labels)}{missing}."
        # The services that are left out have a sentence of their own.
        none_of = [f"{words}." for words in bounds] + [*_none_of([told], labels, without=found.left_out)]
        yield from none_of
        middle = found.of(Metric.P50)
        if (found.of_knee or none_of) and middle and middle is not told:
            yield f"There, {percentile_words(middle, labels)}."
    if found.left_out:
        names = [f"{labels[name]} ({why.removeprefix('left out: ')})" for name, why in found.left_out.items()]
        yield f"Without latency: {listed(names, 3, 2)}."


def rate_words(found: TableLatency, labels: Mapping[str, str]) -> str:
    """`1,800 requests/s (half of what gunicorn-sync-flask, the slowest, served in round 1)`."""
    rate = f"{found.rate or 0:,.0f} requests/s" + ", each on a new connection" * found.level.closes
    if found.by_client:
        return f"{rate} (the limit of {found.tool} on this machine, not of a service)"
    share = "half" if found.share == HALF else f"{100 * found.share:.0f} %"
    slowest = labels.get(found.slowest or "")
    if found.of_knee:
        return f"{rate} ({share} of the lowest rate within the p99 limit{f', that of {slowest}' if slowest else ''})"
    then = "served in round 1"  # the table shows the mean of all rounds
    whose = f"what {slowest}, the slowest, {then}" if slowest else f"what the slowest service {then}"
    return f"{rate} ({share} of {whose})"


def percentile_words(found: Percentile, labels: Mapping[str, str]) -> str:
    """The lowest service, those that may be as low, and the highest if that is shown to differ."""
    best, *rest = found.ordered
    called = [(name, gap) for name in rest if (gap := found.ahead(name, best)) and gap.called]
    open_ = [name for name in rest if (gap := found.ahead(name, best)) and not gap.called]
    # Not shown to be above the lowest, but above a service that is: that tells of its noise rather than its latency.
    noisy = [name for name in open_ if called and rest.index(name) > rest.index(called[0][0])]
    open_ = [name for name in open_ if name not in noisy]
    words = f"{found.metric} of {labels[best]} is {_with_interval(found.figures[best])}"
    if not rest:
        return f"{words}; {'no other is known exactly' if found.at_most else 'no other service has one'}"
    known = " known" if found.at_most else ""
    words += f", the {LOWEST}{known}" if len(open_) < len(rest) else ""
    if open_:
        others = [f"{labels[name]} ({milliseconds(found.figures[name].mean)})" for name in open_]
        words += f"; {listed(others)} may be as low"
    if not called:
        return words
    name, gap = called[-1]
    more = change_of(found.metric, gap)
    verb = f"has the highest{known}," if name == rest[-1] else "is higher:"
    figure = _with_interval(found.figures[name])
    words += f"; {labels[name]} {verb} {figure}: typically {more.much()} ({more.interval()})"
    if not noisy:
        return words
    figures = [f"{labels[name]} at {_with_interval(found.figures[name])}" for name in noisy]
    return f"{words}; {listed(figures)} {'varies' if len(noisy) == 1 else 'vary'} too much to tell"


def pair_words(found: Percentile, one: str, other: str, names: Mapping[str, str]) -> str:
    """The sentence on two services."""
    gap = found.ahead(one, other)
    if gap is None:
        return f"{names[one]} and {names[other]} cannot be compared by {found.metric}"
    if not gap.called:
        most = found.farthest([(one, other)])
        apart = "" if most is None else f" (the data allow a difference of up to {size(most)})"
        return f"no winner between {names[one]} and {names[other]} by {found.metric}{apart}"
    if gap.difference > 0:
        return pair_words(found, other, one, names)
    return f"{names[one]} {change_of(found.metric, gap).verb(names[other])}"


def standing(found: Percentile, service: str) -> str:
    """`lowest`, or `lowest?` if it may be; empty if neither, or if only one service has a figure."""
    if service not in found.figures or len(found.figures) < 2:
        return ""
    best = found.ordered[0]
    if service == best:
        return LOWEST
    return MAYBE if service in found.front(found.ordered) else ""


def notes(found: TableLatency, labels: Mapping[str, str]) -> Iterator[str]:
    """What the columns of a table leave out: the load, and why services have no figure."""
    if not found.percentiles:
        return  # the sentence says why
    names = [str(one.metric) for one in found.percentiles]
    core = found.client_core_ratio
    needs = "" if core is None else f" {found.tool} needs {100 * core:.1f} % of a core per 1,000 requests/s."
    yield (
        f"Latency ({', '.join(names)}): {found.tool} loads the services one at a time with {rate_words(found, labels)},"
        f" on schedule regardless of the responses (open loop); {_rounds(found, labels)} merged, while"
        f" differences compare the percentiles of each round.{needs} {MAYBE}: no"
        f" significant difference from the lowest ({100 * found.confidence:.3g} % confidence, corrected for all"
        " comparisons of a percentile)."
    )
    yield from (f"{words}." for words in _bounds(found.percentiles, labels))
    yield from _none_of(found.percentiles, labels)


def _rounds(found: TableLatency, labels: Mapping[str, str]) -> str:
    """`all 6 rounds`, or `all 6 rounds (5 of aiohttp)` if some services have fewer."""
    most = max(found.rounds.values(), default=0)
    fewer = [f"{count} of {labels[name]}" for name, count in found.rounds.items() if 0 < count < most]
    return f"all {plural(most, 'round')}{f' ({listed(fewer)})' if fewer else ''}"


def _bounds(percentiles: Iterable[Percentile], labels: Mapping[str, str]) -> Iterator[str]:
    """`p99 is at most 5.80 ms for aiohttp: ...`, for each percentile with upper bounds."""
    for one in percentiles:
        if one.at_most:
            each = [f"{milliseconds(bound)} for {labels[name]}" for name, bound in one.at_most.items()]
            yield f"{one.metric} is at most {listed(each)}: an upper bound, because the client was late"


def _none_of(
    percentiles: Sequence[Percentile], labels: Mapping[str, str], *, without: Container[str] = ()
) -> Iterator[str]:
    """`No p99 of aiohttp and bjoern: sent too late.`, a sentence for each reason."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for one in percentiles:
        for name, why in one.missing.items():
            if name in without or name in one.at_most:
                continue
            reasons.setdefault(why.removeprefix("left out: "), {}).setdefault(labels[name], []).append(str(one.metric))
    for why, who in reasons.items():
        for metrics in dict.fromkeys(map(joined, who.values())):
            alike = [name for name, own in who.items() if joined(own) == metrics]
            yield f"No {metrics} of {listed(alike)}: {why}."


def in_milliseconds(found: Percentile, service: str) -> str:
    """`2.10`, or `≤ 5.80` where only an upper bound is known."""
    figure, bound = found.figures.get(service), found.at_most.get(service)
    if figure is not None:
        return number(1000 * figure.mean)
    return NOTHING if bound is None else f"≤ {number(1000 * bound)}"


def spread(figure: Figure) -> str:
    """`1.80 to 2.60`, in ms; empty if the rounds do not vary."""
    known = figure.low != figure.high
    return f"{number(1000 * figure.low)} to {number(1000 * figure.high)}" if known else ""


def _with_interval(figure: Figure) -> str:
    span = spread(figure)
    return f"{milliseconds(figure.mean)} ({span})" if span else milliseconds(figure.mean)


def _why_none(found: TableLatency) -> str:
    reasons = dict.fromkeys(why for one in found.percentiles for why in one.missing.values())
    few = f"{plural(max(found.rounds.values(), default=0), 'round')} of at least 3"
    return f" ({next(iter(reasons), few)})"

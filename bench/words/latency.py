"""Latency of a table at its common rate in words: which service is lowest, which may be as low, which have none."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from bench.analysis.tables.ranking import HALF, Figure, Metric, Percentile, TableLatency
from bench.core.formats import NOTHING, joined, listed, milliseconds, number, plain, plural
from bench.tools.parsed import Timed
from bench.words.changes import change_of
from bench.words.order import allowed_words
from bench.words.texts import SENTENCES

LOWEST, MAYBE = "lowest", "lowest?"
PLURALS = {Timed.RESPONSE: "requests", Timed.FIRST_EVENT: "streams", Timed.EVENT: "events"}
WHAT = {Timed.FIRST_EVENT: "to the first event", Timed.EVENT: "lateness"}


def latency_sentences(latency: TableLatency, labels: Mapping[str, str]) -> Iterator[str]:
    """A sentence on the highest percentile that is known, then the services that have no latency."""
    if latency.rate is None and latency.timed is Timed.RESPONSE:
        yield f"No latency: {latency.reason or 'no common rate was decided'}."
        return
    lead = _lead(latency, labels)
    highest = latency.tail
    metrics = (Metric.P99, highest and highest.metric)
    bounds = [*_bounds([one for one in latency.percentiles if one.metric in metrics], labels)]
    if highest is None:
        yield f"{lead}: {'; '.join(bounds) or f'not enough data for latency{_why_none(latency)}'}."
    else:
        few = highest.metric is not Metric.P99 and all(one.metric is not Metric.P99 for one in latency.percentiles)
        missing = f"; too few {PLURALS[latency.timed]} for {Metric.P99}" if few else ""
        yield f"{lead}: {percentile_words(highest, labels)}{missing}."
        # The services that are left out have a sentence of their own.
        none_of = [f"{words}." for words in bounds] + [*_none_of([highest], labels, without=latency.left_out)]
        yield from none_of
        middle = latency.of(Metric.P50)
        if (latency.of_knee or none_of) and middle and middle is not highest:
            yield f"There, {percentile_words(middle, labels)}."
    if latency.left_out:
        names = [f"{labels[name]} ({why.removeprefix('left out: ')})" for name, why in latency.left_out.items()]
        yield f"Without latency: {listed(names, 3, 2)}."


def percentile_name(latency: TableLatency, metric: Metric) -> str:
    """`p99`, `p99 to the first event` or `p99 lateness`."""
    return " ".join(filter(None, (str(metric), WHAT.get(latency.timed))))


def load_words(latency: TableLatency) -> str:
    """`1,800/s`, or the level of streams with a pace of their own."""
    return str(latency.level) if latency.rate is None else f"{latency.rate:,.0f}/s"


def _lead(latency: TableLatency, labels: Mapping[str, str]) -> str:
    at = rate_words(latency, labels)
    if latency.timed is Timed.RESPONSE:
        return f"At {at}"
    what = "Time to the first event" if latency.timed is Timed.FIRST_EVENT else "How late events are"
    return f"{what}, {at}"


def rate_words(latency: TableLatency, labels: Mapping[str, str]) -> str:
    """`1,800 requests/s (half of what gunicorn-sync-flask, the slowest, served in round 1)`."""
    if latency.timed is not Timed.RESPONSE:
        open_ = latency.level.connections
        return f"{open_} streams open" if open_ else f"{plain(latency.level.rate)} streams begun per second"
    rate = f"{latency.rate or 0:,.0f} requests/s" + ", each on a new connection" * latency.level.closes
    if latency.by_client:
        return f"{rate} (the limit of {latency.tool} on this machine, not of a service)"
    share = "half" if latency.share == HALF else f"{100 * latency.share:.0f} %"
    slowest = labels.get(latency.slowest or "")
    if latency.of_knee:
        return f"{rate} ({share} of the lowest rate within the p99 limit{f', that of {slowest}' if slowest else ''})"
    then = "served in round 1"  # the table shows the mean of all rounds
    whose = f"what {slowest}, the slowest, {then}" if slowest else f"what the slowest service {then}"
    return f"{rate} ({share} of {whose})"


def percentile_words(percentile: Percentile, labels: Mapping[str, str]) -> str:
    """The lowest service, those that may be as low, and the highest if that is shown to differ."""
    best, *others = percentile.ordered
    called = [(name, gap) for name in others if (gap := percentile.ahead(name, best)) and gap.called]
    open_ = [name for name in others if (gap := percentile.ahead(name, best)) and not gap.called]
    # Not shown to be above the lowest, but above a service that is: that tells of its noise rather than its latency.
    noisy = [name for name in open_ if called and others.index(name) > others.index(called[0][0])]
    open_ = [name for name in open_ if name not in noisy]
    words = f"{percentile.metric} of {labels[best]} is {_with_interval(percentile.figures[best])}"
    if not others:
        return f"{words}; {'no other is known exactly' if percentile.at_most else 'no other service has one'}"
    known = " known" if percentile.at_most else ""
    words += f", the {LOWEST}{known}" if len(open_) < len(others) else ""
    if open_:
        figures = [f"{labels[name]} ({milliseconds(percentile.figures[name].mean)})" for name in open_]
        words += f"; {listed(figures)} may be as low"
    if not called:
        return words
    name, gap = called[-1]
    more = change_of(percentile.metric, gap)
    verb = f"has the highest{known}," if name == others[-1] else "is higher:"
    figure = _with_interval(percentile.figures[name])
    words += f"; {labels[name]} {verb} {figure}: typically {more.much()} ({more.interval()})"
    if not noisy:
        return words
    figures = [f"{labels[name]} at {_with_interval(percentile.figures[name])}" for name in noisy]
    return f"{words}; {listed(figures)} {'varies' if len(noisy) == 1 else 'vary'} too much to tell"


def pair_words(percentile: Percentile, service: str, other: str, names: Mapping[str, str]) -> str:
    """The sentence on two services."""
    gap = percentile.ahead(service, other)
    if gap is None:
        return f"{names[service]} and {names[other]} cannot be compared by {percentile.metric}"
    if not gap.called:
        allowed = allowed_words(percentile, [(service, other)])
        return f"no winner between {names[service]} and {names[other]} by {percentile.metric}{allowed}"
    if gap.difference > 0:
        return pair_words(percentile, other, service, names)
    return f"{names[service]} {change_of(percentile.metric, gap).verb(names[other])}"


def standing(percentile: Percentile, service: str) -> str:
    """`lowest`, or `lowest?` if it may be; empty if neither, or if only one service has a figure."""
    if service not in percentile.figures or len(percentile.figures) < 2:
        return ""
    best = percentile.ordered[0]
    if service == best:
        return LOWEST
    return MAYBE if service in percentile.front(percentile.ordered) else ""


def notes(latency: TableLatency, labels: Mapping[str, str]) -> Iterator[str]:
    """What the columns of a table leave out: the load, and why services have no figure."""
    if not latency.percentiles:
        return  # the sentence says why
    core = latency.client_core_ratio
    yield SENTENCES["latency" if latency.timed is Timed.RESPONSE else "streams"].format(
        percentiles=", ".join(percentile_name(latency, one.metric) for one in latency.percentiles),
        tool=latency.tool,
        rate=rate_words(latency, labels),
        rounds=_rounds(latency, labels),
        needs="" if core is None else f" {latency.tool} needs {100 * core:.1f} % of a core per 1,000 requests/s.",
        maybe=MAYBE,
        confidence=100 * latency.confidence,
    )
    yield from (f"{words}." for words in _bounds(latency.percentiles, labels))
    yield from _none_of(latency.percentiles, labels)


def _rounds(latency: TableLatency, labels: Mapping[str, str]) -> str:
    """`all 6 rounds`, or `all 6 rounds (5 of aiohttp)` if some services have fewer."""
    most = max(latency.rounds.values(), default=0)
    fewer = [f"{count} of {labels[name]}" for name, count in latency.rounds.items() if 0 < count < most]
    return f"all {plural(most, 'round')}{f' ({listed(fewer)})' if fewer else ''}"


def _bounds(percentiles: Iterable[Percentile], labels: Mapping[str, str]) -> Iterator[str]:
    """`p99 is at most 5.80 ms for aiohttp: ...`, for each percentile with upper bounds."""
    for percentile in percentiles:
        if percentile.at_most:
            each = [f"{milliseconds(bound)} for {labels[name]}" for name, bound in percentile.at_most.items()]
            yield f"{percentile.metric} is at most {listed(each)}: an upper bound, because the client was late"


def _none_of(
    percentiles: Sequence[Percentile], labels: Mapping[str, str], *, without: Container[str] = ()
) -> Iterator[str]:
    """`No p99 of aiohttp and bjoern: sent too late.`, a sentence for each reason."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for percentile in percentiles:
        for name, why in percentile.missing.items():
            if name in without or name in percentile.at_most:
                continue
            who = reasons.setdefault(why.removeprefix("left out: "), {})
            who.setdefault(labels[name], []).append(str(percentile.metric))
    for why, who in reasons.items():
        for metrics in dict.fromkeys(map(joined, who.values())):
            alike = [name for name, own in who.items() if joined(own) == metrics]
            yield f"No {metrics} of {listed(alike)}: {why}."


def in_milliseconds(percentile: Percentile, service: str) -> str:
    """`2.10`, or `≤ 5.80` where only an upper bound is known."""
    figure, bound = percentile.figures.get(service), percentile.at_most.get(service)
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


def _why_none(latency: TableLatency) -> str:
    reasons = dict.fromkeys(why for one in latency.percentiles for why in one.missing.values())
    few = f"{plural(max(latency.rounds.values(), default=0), 'round')} of at least 3"
    return f" ({next(iter(reasons), few)})"

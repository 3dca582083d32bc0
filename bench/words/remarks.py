"""Remarks beside a table's order: on services, limits of the machine, published ratios, undecided pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from bench.analysis.published import Along, Published, Sign
from bench.analysis.services import Places
from bench.analysis.tables.ranking import (
    ByLoadgen,
    Contrast,
    Idles,
    LeftOut,
    NoFigure,
    RankedRow,
    Ranking,
    Remark,
    Spread,
    Throttled,
    Unranked,
)
from bench.core.formats import joined, listed, number, plural, size
from bench.core.groups import grouped
from bench.matrix.knobs import CPU_QUOTA
from bench.matrix.start_command import Waits
from bench.plan.cpus import server_cpus
from bench.records.record import Cause
from bench.run.facts import Caveats
from bench.run.reader import ServiceFacts
from bench.words.texts import SENTENCES, TEXTS

CAUSES = TEXTS["causes"]
"""Caveats that explain a figure, the stronger one first: no sentence compares other services with such a one."""


def note_of(row: RankedRow, waits: Waits | None = None, caveats: Caveats | None = None) -> str:
    """All remarks on a service on one line; empty without any.

    `waits`: how many requests it takes at once is given if that is limited, since others may take more.
    """
    known = caveats or {}
    parts = [CAUSES["development"]] if "development" in known else []
    if waits and waits.each:
        parts.append(f"requests at once: {waits_words(waits)}, own default {known.get('default', 'unknown')}")
    parts += [f"with {known[name]}" for name in ("adds", "sets") if name in known]
    parts += map(remark_words, row.remarks)
    return "; ".join(parts + ([f"{CAUSES['stall']}: {known['stall']}"] if "stall" in known else []))


def aside_words(caveats: Mapping[str, Caveats], labels: Mapping[str, str], lead: str) -> Iterator[str]:
    """A sentence on the services whose figures have a known cause, if there are any."""
    known = {name: next((CAUSES[key] for key in CAUSES if key in own), "") for name, own in caveats.items()}
    groups = grouped(filter(known.get, known), known.__getitem__)
    if groups:
        words = "; ".join(f"{listed([labels[name] for name in names])} ({cause})" for cause, names in groups.items())
        yield f"{lead}: {words}."


def waits_words(waits: Waits) -> str:
    """How many requests can wait at once: `16 threads`, `4 workers x 2 threads = 8`, `1 (= workers)`, `no limit`."""
    if waits.each is None:
        return "no limit"
    if not waits.threads:
        return f"{waits.workers} (= workers)"
    threads = plural(waits.each, "thread")
    return threads if waits.workers == 1 else f"{waits.workers} workers x {threads} = {waits.total}"


def remark_words(remark: Remark) -> str:  # noqa: PLR0911 -- one return for each kind
    """One remark in words."""
    match remark:
        case Unranked():
            return TEXTS["unranked"][remark]
        case NoFigure(why):
            return _why_none(why)
        case LeftOut(windows, every, cause):
            return f"{windows} of {every} windows left out: {cause}"
        case ByLoadgen(windows, every, detail):
            limit = f"the load generator was the limit in {windows} of {every} windows"
            return f"at least as fast as shown: {limit} ({detail})"
        case Idles(busy, _, others) if others is not None:
            had = f"other programs had up to {100 * others:.0f} %"
            return f"used {100 * busy:.0f} % of its CPU in its turns, and {had}: it may have waited for them"
        case Idles(busy, response_s):
            takes = "" if response_s is None else f": each response takes {1000 * response_s:.3g} ms"
            return f"busy for {100 * busy:.0f} % of its turns{takes}, mostly waiting"
        case Spread(shares):
            return f"CPU time spread unevenly over its {len(shares)} workers: {spread_words(remark)}"
        case Throttled():
            return throttled_words(remark)
        case _:
            assert_never(remark)


def spread_words(spread: Spread) -> str:
    """`91 and 9 %`."""
    return f"{joined([f'{100 * share:.0f}' for share in spread.shares])} %"


def throttled_words(throttled: Throttled) -> str:
    """How long a CPU quota throttled a service."""
    if throttled.seconds is None:
        return f"throttling unknown: {throttled.unknown}"
    return f"throttled for {number(throttled.seconds)} s a round" if throttled.seconds else "never throttled"


def _why_none(why: Cause | str | None) -> str:
    if why is None:
        return "too few responses in every window"
    return f"{why.cause}: {why.detail}" if isinstance(why, Cause) else why or "not measured"


SPEED_UPS = ("orjson", "ujson", "uvloop", "httptools")
"""Packages that make an app or a server faster, and do not exist for every Python."""


def lacking_words(labels: Mapping[str, str], places: Places, services: Mapping[str, ServiceFacts]) -> Iterator[str]:
    """Which services of a table lack such a package that the same stack has on another Python."""
    known = [name for name in labels if name in places and name in services and services[name].packages]
    for package in SPEED_UPS:
        lacking = list[str]()
        for own in grouped(known, lambda name: places[name].stack).values():
            without = [name for name in own if package not in services[name].packages]
            lacking += without if len(without) < len(own) else []
        if lacking:
            names, run = listed([labels[name] for name in lacking]), "runs" if len(lacking) == 1 else "run"
            yield f"{names} {run} without {package}, so not all of the difference from other Pythons is Python's."


def limits_words(places: Places, services: Sequence[str], knobs: Mapping[str, Any]) -> Iterator[str]:
    """What the server's CPUs limit, if services of a table differ in a knob that could use more of them."""
    settings = [places[name].settings for name in services if name in places]
    cpus = server_cpus(knobs)
    if cpus is None:
        return
    if cpus == 1 and any(len({own.get(knob) for own in settings}) > 1 for knob in ("WORKERS", "THREADS")):
        yield SENTENCES["one_cpu"]
    quotas = [float(own[CPU_QUOTA]) for own in settings if CPU_QUOTA in own]
    if any(quota >= cpus for quota in quotas):
        yield f"The server has {plural(cpus, 'CPU')} here: a quota of that or more has no effect."


FAR = 1.5
"""From this ratio on, the distance between published ratios and ours is given: the direction alone would hide it."""
SIGNS = TEXTS["signs"]


def published_sentence(published: Published, labels: Mapping[str, str]) -> str:
    """Both lists of ratios in one line."""
    there = listed([f"{labels[row.service]} {_ratio(row.published)}" for row in published.rows])
    base, signs = labels[published.base], _signs(published, labels)
    counted = any(row.here for row in published.rows)
    ratios = [row.here if counted else row.by_metric for row in published.rows]
    here = f"here {'' if counted else 'by speed '}{listed([_ratio(one) for one in ratios])}"
    return f"Published, requests/s relative to {base}: {there}; {here}: {signs}{_far(published, ratios)}."


def _far(published: Published, ratios: Iterable[float | None]) -> str:
    """The largest factor between ratios published and here, from FAR on."""
    pairs = zip((row.published for row in published.rows), ratios, strict=True)
    apart = [max(there / here, here / there) for there, here in pairs if here]
    return (
        f" (up to {max(apart):.{1 if max(apart) < 9.95 else 0}f} times apart)" if max(apart, default=0) >= FAR else ""
    )


def _signs(published: Published, labels: Mapping[str, str]) -> str:
    if len(published.rows) == 1:
        return SIGNS[published.rows[0].sign]
    same = sum(row.sign is Sign.SAME for row in published.rows)
    others = [f"{SIGNS[row.sign]} for {labels[row.service]}" for row in published.rows if row.sign is not Sign.SAME]
    if not others:
        return f"same direction for all {same}"
    return f"same direction for {same} of {len(published.rows)}, {', '.join(others)}"


def along_sentence(along: Along) -> str:
    """The ratios along one axis, published and here."""
    python = along.axis == "python"
    there = listed([f"{name} {_ratio(ratio)}" for name, ratio in along.there])
    here = listed([f"{_value(value, python=python)} {_ratio(ratio)}" for value, ratio in along.here])
    fixed, group = _value(along.fixed, python=not python), along.group
    return f"Published, requests/s of {group.of} ({group.level}): {there}; here, {fixed}: {here}."


def _value(value: str, *, python: bool) -> str:
    return f"Python {value}" if python else value.replace("==", " ")


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return "unknown"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


MOST_UNDECIDED = 6
"""The most pairs that get a line each."""


def beside_words(ranking: Ranking, name: Callable[[str], str]) -> Iterator[str]:
    """A line for each pair without a winner, except pairs with the best: the table's rows cover those."""
    if ranking.look is None:
        return
    best = {row.service for row in ranking.rows if row.rank == 1}
    open_ones = [
        one
        for one in ranking.contrasts
        if not one.called and one.smallest_visible is not None and not best & {one.a, one.b}
    ]
    for one in open_ones[:MOST_UNDECIDED]:
        yield f"{name(one.b)} against {name(one.a)}: {one.verdict}; {unnoticed_words(size(_seen(one)))}."
    later = open_ones[MOST_UNDECIDED:]
    if later:
        least, most = (size(choose(map(_seen, later))) for choose in (min, max))
        between = least if least == most else f"{least} to {most}"
        more = plural(len(later), "more pair")
        yield f"{more} without a winner: {unnoticed_words(between)} (each in verdicts.jsonl)."


def unnoticed_words(least: str) -> str:
    """What the data would not show: `differences below 2.4 % would go unnoticed`."""
    return f"differences below {least} would go unnoticed"


def _seen(one: Contrast) -> float:
    return one.smallest_visible or 0.0

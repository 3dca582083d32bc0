"""When the server closes idle connections, whether a proxy does so earlier, and for how long requests are lost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from bench.analysis.events import EventCell, EventRow
from bench.core.formats import listed
from bench.core.groups import grouped
from bench.events.idle_close.cases import NOT_KEPT_S
from bench.words.event_words import BAD, KNOWN, EventWords, Named, Weighted, seconds_of, texts_of, whole

IDLE_OF_PROXIES: Mapping[str, float] = MappingProxyType(
    {"nginx": 60.0, "AWS Application Load Balancer": 60.0, "Caddy": 120.0, "Envoy": 3600.0}
)
"""Default seconds after which proxies close an idle connection to a server (sources in docs/deploying.md).

A server that closes it sooner may do so while a request is on its way.
"""
HOUR_S, MINUTE_S = 3600, 60


def _findings(_: EventRow, cells: Named) -> Weighted:
    """Which servers close idle connections before a proxy does, by the defaults of both."""
    idle_s = {name: cell.figures("idle_s") for name, cell in cells.items()}
    first = [
        (seconds_of(own), name)
        for name, own in idle_s.items()
        if own and NOT_KEPT_S < min(own) < min(IDLE_OF_PROXIES.values())
    ]
    if first:
        servers = "; ".join(f"{listed(names)} after {seconds}" for seconds, names in _by_first(first))
        yield (
            BAD,
            f"Idle connections are closed by {servers}, sooner than by {_proxies(math.inf)}: a proxy may send a request"
            " on a connection that is just being closed.",
        )
    kept = [(proxies, name) for name, cell in cells.items() if (proxies := _proxies(_kept_s(cell)))]
    for proxies, names in _by_first(kept):
        yield KNOWN, f"Idle connections are kept by {listed(names)} for longer than by {proxies}."


def _by_first(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    groups = grouped(pairs, lambda pair: pair[0]).items()
    return ((first, [second for _, second in group]) for first, group in groups)


def _proxies(below_s: float) -> str:
    """The proxies that close idle connections sooner, and after how long."""
    return listed([f"{name} ({_duration(own)})" for name, own in IDLE_OF_PROXIES.items() if own < below_s])


def _duration(seconds: float) -> str:
    """`60 s`, `2 min`, `1 h`."""
    if seconds >= HOUR_S:
        return f"{seconds / HOUR_S:g} h"
    return f"{seconds / MINUTE_S:g} min" if seconds > MINUTE_S else f"{seconds:g} s"


def _details(cell: EventCell) -> Iterator[str]:
    if idle_s := cell.figures("idle_s"):
        if max(idle_s) < NOT_KEPT_S:
            yield "closes the connection after each response"
            return
        yield f"closes idle connections after {seconds_of(idle_s)}"
        if (late := cell.figures("lost_to_ms")) and cell.lost:
            after = max(late)
            when = f"until {after:.0f} ms after" if after >= 1 else "just before"
            per = f" ({whole(cell.figures('lost_per_100000'))} per 100,000)" if cell.figures("lost_per_100000") else ""
            yield f"requests are lost {when} that{per}"
    elif held := _kept_s(cell):
        yield f"keeps idle connections for more than {held:g} s"


def _kept_s(cell: EventCell) -> float:
    """The time for which it kept idle connections without closing one, in seconds; 0 if it closed some."""
    return 0.0 if cell.figures("idle_s") or not any(cell.figures("held")) else max(cell.figures("watched_s"))


WORDS = EventWords(**texts_of(__file__), findings=_findings, details=_details)

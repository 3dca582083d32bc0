"""Finds services that wait for a timer on a route that does no waiting: each measured alone, with few connections.

With one connection, a response takes the CPU time of server and load generator; with N connections it waits for the
others, which makes N times that. A median far above that is caused by a timer or a poll: Nagle's algorithm against a
delayed acknowledgement (40 ms), or a loop that sleeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.core.errors import UserError
from bench.matrix.listeners import load_listeners
from bench.records.file import read_records
from calibration.report import head, row

MOST = 3.0
"""How many times the CPU time of the requests in flight the median may be without an explanation."""
LEAST_S = 1e-3
"""A smaller median is not a timer, but the way to the server and back, and wrk's own work."""


@dataclass(frozen=True, slots=True)
class Median:
    """A service's median response time at a number of connections, and its CPU time per request, in one round."""

    service: str
    connections: int
    p50_s: float
    cpu_s: float

    @property
    def ratio(self) -> float:
        """The median divided by the CPU time of one request per connection."""
        return self.p50_s / (self.connections * self.cpu_s)

    @property
    def waits(self) -> bool:
        """Whether it waits for something that CPU time does not explain."""
        return self.ratio > MOST and self.p50_s > LEAST_S


def waits(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether CPU time or services/listeners.toml explains the median of every service)."""
    found = [(median, server) for folder in folders for median, server in _medians(folder)]
    if not found:
        raise UserError(f"{folders[0]} has no closed loop with a median and CPU time")
    return report(found, {name: one.waits for name, one in load_listeners().items()})


def report(medians: Iterable[tuple[Median, str]], explained: Mapping[str, str]) -> tuple[str, bool]:
    """As `waits`, of medians with their servers; the largest ratio comes first.

    The round with the smallest ratio counts: the service's own waits are in all rounds, noise of the machine is not.
    """
    least: dict[tuple[str, int], tuple[Median, str]] = {}
    for median, server in medians:
        key = (median.service, median.connections)
        if key not in least or median.ratio < least[key][0].ratio:
            least[key] = (median, server)
    rows, holds = head(("service", "connections", "p50", "CPU per request", "multiple", ""), 1), True
    for one, server in sorted(least.values(), key=lambda found: -found[0].ratio):
        why = explained.get(server, "") if one.waits else ""
        holds &= not one.waits or bool(why)
        cells = [one.service, str(one.connections), f"{1e3 * one.p50_s:.2f} ms", f"{1e6 * one.cpu_s:.0f} us"]
        rows.append(row([*cells, f"{one.ratio:.1f}", (why or "WAITS") if one.waits else ""]))
    return "\n".join(rows), holds


def _medians(folder: str) -> Iterator[tuple[Median, str]]:
    for record in read_records(Path(folder)):
        p50_s, cpu_s, connections = record.latency_s.get("p50"), record.cpu_per_success_s, record.connections
        if p50_s and cpu_s and connections and record.mode == "solo":
            yield Median(record.service, connections, p50_s, cpu_s), record.server

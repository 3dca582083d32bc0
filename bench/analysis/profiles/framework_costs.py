"""What a framework costs: the CPU time of its routes beside those of a bare app on the same server, or in process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import median

from bench.matrix.service import BARE as BARE

OUTLIER = 2.0
"""A figure this many times the median of its kind on a route needs an explanation."""
SPREAD = 0.1
"""Rounds further apart than this share of their median are shown with their range; smaller differences are no order."""
LEAST_ROUNDS = 3
"""An order needs as many rounds: fewer would hardly ever be mixed up by chance."""


@dataclass(frozen=True, slots=True)
class Window:
    """One service under load of one route; `cpu_ns` is None if the answers were wrong, so that it has no cost."""

    service: str
    route: str
    round: int
    cpu_ns: float | None
    """CPU time of the service for each request."""


@dataclass(frozen=True, slots=True)
class CostFigure:
    """The median of some rounds, and the lowest and highest of them."""

    middle: float
    low: float
    high: float
    rounds: int

    @property
    def spread(self) -> float:
        """How far apart the rounds are, as a share of their median."""
        return (self.high - self.low) / self.middle


@dataclass(frozen=True, slots=True)
class Cost:
    """A service's CPU time per request on one route in us, and its share of the bare app's in the same rounds."""

    us: CostFigure
    share: CostFigure | None

    @property
    def figure(self) -> CostFigure:
        """What services of a group are compared by: shares where there is a bare app, else CPU time."""
        return self.share or self.us


@dataclass(frozen=True, slots=True)
class Group:
    """Services that are compared with each other: those of one server, or those that have a server of their own.

    `bare` is the app without a framework that the others are shares of; None if each has a server of its own.
    """

    title: str
    kind: str
    services: Sequence[str]
    bare: str | None = None


Costs = Mapping[tuple[str, str], Cost]
"""Cost by service and route."""


def costs(windows: Iterable[Window], groups: Iterable[Group]) -> Costs:
    """The costs of all windows.

    A share compares windows of the same round: what else the machine did in another minute is not in it.
    """
    rounds: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for window in windows:
        if window.cpu_ns is not None:
            rounds[window.service, window.route][window.round] = window.cpu_ns
    bare_of = {s: group.bare for group in groups for s in group.services if group.bare not in (None, s)}
    found: dict[tuple[str, str], Cost] = {}
    for (service, route), own in rounds.items():
        bare = rounds.get((bare_of.get(service) or "", route), {})
        shares = [own[number] / bare[number] for number in sorted(own.keys() & bare.keys()) if bare[number] > 0]
        # Without a window of the bare app in the same round it has no share, and its CPU time is no substitute.
        if shares or service not in bare_of:
            us = _figure([ns / 1000 for ns in own.values()])
            found[service, route] = Cost(us, _figure(shares) if shares else None)
    return found


def _figure(values: Sequence[float]) -> CostFigure:
    return CostFigure(median(values), min(values), max(values), len(values))


def outliers(found: Costs, groups: Sequence[Group]) -> Mapping[tuple[str, str], float]:
    """Services that are more than twice the median of their kind on a route, with that median.

    A kind has the services of the same style of drivers that have a share of a bare app, or those that have none.
    """
    members: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    for group in groups:
        for service, route in found:
            if service in group.services and service != group.bare:
                members[group.kind, route].append((service, found[service, route].figure.middle))
    high: dict[tuple[str, str], float] = {}
    for (_, route), values in members.items():
        middle = median(value for _, value in values)
        high.update({(service, route): middle for service, value in values if value > OUTLIER * middle})
    return high


@dataclass(frozen=True, slots=True)
class Reversal:
    """Two services whose order on a raw route is the opposite of that on its ORM's."""

    cheaper_raw: str
    cheaper_orm: str
    path: str


def reversals(found: Costs, groups: Iterable[Group], paths: Iterable[str]) -> list[Reversal]:
    """Orders that differ between raw and ORM, apart from the bare app: no round of one is within those of the other."""
    return [
        Reversal(first, second, path)
        for path in paths
        for group in groups
        for first, second in permutations([s for s in group.services if s != group.bare], 2)
        if _cheaper(found, first, second, f"/raw{path}") and _cheaper(found, second, first, f"/orm{path}")
    ]


def _cheaper(found: Costs, first: str, second: str, route: str) -> bool:
    if (first, route) not in found or (second, route) not in found:
        return False
    a, b = found[first, route].figure, found[second, route].figure
    return min(a.rounds, b.rounds) >= LEAST_ROUNDS and a.high < b.low and b.middle > (1 + SPREAD) * a.middle


def void(windows: Iterable[Window]) -> Iterator[Window]:
    """The windows that have no figure because of wrong answers."""
    return (window for window in windows if window.cpu_ns is None)

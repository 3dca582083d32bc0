"""What a framework costs: the CPU time of its routes beside those of a bare app on the same server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

BARE = ("wsgi", "asgi", "rsgi")
"""The apps without a framework, each named as its interface."""
OUTLIER = 2.0
"""A share this many times the median of the same kind on a route needs an explanation."""


@dataclass(frozen=True, slots=True)
class Window:
    """One service under load of one route; `cpu_ns` is None if requests failed, so that it has no cost to compare."""

    service: str
    route: str
    round: int
    cpu_ns: float | None
    """CPU time of the service for each request."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A service's median CPU time per request on one route, and its median share of the bare app's in each round."""

    us: float
    share: float | None


Costs = Mapping[tuple[str, str], Cost]
"""Cost by service and route."""


def costs(windows: Iterable[Window], bare_of: Mapping[str, str]) -> Costs:
    """The costs of all windows; `bare_of` has the bare app beside each service that has one.

    A share compares windows of the same round: what else the machine did in another minute is not in it.
    """
    rounds: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for window in windows:
        if window.cpu_ns is not None:
            rounds[window.service, window.route][window.round] = window.cpu_ns
    found: dict[tuple[str, str], Cost] = {}
    for (service, route), own in rounds.items():
        bare = rounds.get((bare_of.get(service, ""), route), {})
        shares = [own[number] / bare[number] for number in own.keys() & bare.keys()]
        found[service, route] = Cost(median(own.values()) / 1000, median(shares) if shares else None)
    return found


def outliers(found: Costs, kinds: Mapping[str, str]) -> dict[tuple[str, str], float]:
    """Services whose share on a route is more than twice the median of their kind, with that median."""
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (service, route), cost in found.items():
        if cost.share is not None:
            shares[kinds[service], route].append(cost.share)
    medians = {key: median(values) for key, values in shares.items()}
    return {
        (service, route): medians[kinds[service], route]
        for (service, route), cost in found.items()
        if cost.share is not None and cost.share > OUTLIER * medians[kinds[service], route]
    }


def reordered(found: Costs, kinds: Mapping[str, str], raw: str, orm: str, least: int = 3) -> list[str]:
    """Services that are `least` or more places apart between a raw route and its ORM's, in the order of their kind."""
    moved: list[str] = []
    for kind in dict.fromkeys(kinds.values()):
        services = [s for s in kinds if kinds[s] == kind and (s, raw) in found and (s, orm) in found]
        places = [{s: n for n, s in enumerate(_cheapest_first(found, services, route))} for route in (raw, orm)]
        moved += [s for s in services if abs(places[0][s] - places[1][s]) >= least]
    return moved


def _cheapest_first(found: Costs, services: Iterable[str], route: str) -> list[str]:
    return sorted(services, key=lambda service: found[service, route].us)


def table(found: Costs, groups: Sequence[Sequence[str]], routes: Sequence[str], high: Iterable[tuple[str, str]]) -> str:
    """Markdown: for each group the bare app's CPU time in us, then the others' shares; outliers are bold."""
    return "\n".join(_lines(found, groups, routes, set(high))) + "\n"


def _lines(
    found: Costs, groups: Sequence[Sequence[str]], routes: Sequence[str], high: set[tuple[str, str]]
) -> Iterator[str]:
    yield "| " + " | ".join(("service", *(f"`{route}`" for route in routes))) + " |"
    yield "|" + "---|" * (len(routes) + 1)
    for group in groups:
        for service in group:
            cells = (_cell(found.get((service, route)), (service, route) in high) for route in routes)
            yield "| " + " | ".join((service, *cells)) + " |"


def _cell(cost: Cost | None, bold: bool) -> str:
    if cost is None:
        return "-"
    if cost.share is None:
        return f"{cost.us:.0f} µs"
    return f"**{cost.share:.2f}**" if bold else f"{cost.share:.2f}"

"""Releases of one package in order: the steps from one to the next, and which of them the verdicts show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.analysis.services import Places
from bench.analysis.tables.ranking import Ranking
from bench.core.groups import grouped
from bench.matrix.packages import versions_in

LEAST = 3
"""The fewest releases of a ladder: two are an ordinary comparison."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Releases of `package` under one stack: their versions by service, from the oldest to the newest.

    `package` also names what all of them were changed together with.
    """

    package: str
    stack: str
    versions: Mapping[str, str]


def ladder_of(services: Sequence[str], places: Places) -> Ladder | None:
    """The ladder of services that differ only in their package; None if they form none."""
    # Imported here because the measuring loop runs without this package.
    from packaging.version import InvalidVersion, Version

    releases: list[tuple[Version, str, str]] = []
    names = set()
    for service in services:
        (name, text), *others = versions_in(places[service].package) or [("", "")]
        try:
            version = Version(text)
        except InvalidVersion:
            return None
        # A build from source has no place among releases.
        if version.local:
            return None
        names.add(" ".join([name, *(f"with {other} {its}" for other, its in others)]))
        releases.append((version, text, service))
    if len(releases) < LEAST or len(names) != 1:
        return None
    releases.sort()
    return Ladder(names.pop(), places[services[0]].stack, {service: text for _, text, service in releases})


def ladders(ranking: Ranking, places: Places) -> list[Ladder]:
    """All ladders of a table, including releases without a figure."""
    known = {row.service: places[row.service] for row in ranking.rows if row.service in places}
    released = {name: (place, found[0][0]) for name, place in known.items() if (found := versions_in(place.package))}
    groups = grouped(released, lambda name: (replace(released[name][0], package=None), released[name][1]))
    return [ladder for services in groups.values() if (ladder := ladder_of(services, places))]

"""Releases of one package in their order: the steps from each to the next, and which of them the verdicts show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.services import Places
from bench.analysis.tables.ranking import Ranking

LEAST = 3
"""Releases of a ladder: two are a comparison like any other."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Releases of `package` under one stack: their versions by service, from the oldest to the newest."""

    package: str
    stack: str
    versions: Mapping[str, str]


def ladder_of(services: Sequence[str], places: Places) -> Ladder | None:
    """The ladder that services make which differ in their package alone; None where they make none."""
    # Imported where it is needed, as the measuring loop has to do without.
    from packaging.version import InvalidVersion, Version

    found: list[tuple[Version, str, str]] = []
    names = set()
    for service in services:
        name, _, text = (places[service].package or "").partition("==")
        try:
            version = Version(text)
        except InvalidVersion:
            return None
        # What was built from a source has no place among releases.
        if version.local:
            return None
        names.add(name)
        found.append((version, text, service))
    if len(found) < LEAST or len(names) != 1:
        return None
    found.sort()
    stack = places[services[0]].stack
    return Ladder(names.pop(), stack, {service: text for _, text, service in found})


def ladders(ranking: Ranking, places: Places) -> list[Ladder]:
    """All of a table, with the releases that have no figure."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for row in ranking.rows:
        place = places.get(row.service)
        if place and place.package:
            name = place.package.partition("==")[0]
            key = (place.server, place.framework, place.python, place.base, place.settings, name)
            groups.setdefault(key, []).append(row.service)
    return [ladder for services in groups.values() if (ladder := ladder_of(services, places))]

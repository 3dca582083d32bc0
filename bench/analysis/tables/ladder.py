"""Releases of one package in their order: the steps from each to the next, and which of them the verdicts show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.analysis.services import Places
from bench.analysis.tables.ranking import Ranking
from bench.stats.table_verdicts import TURNED

LEAST = 3
"""Releases of a ladder: two are a comparison like any other."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The services of one stack with releases of `package`, from the oldest to the newest, and the others' versions."""

    package: str
    stack: str
    services: tuple[str, ...]
    versions: tuple[str, ...]

    @property
    def steps(self) -> Iterator[tuple[int, int]]:
        """The places of each two neighbours."""
        return pairwise(range(len(self.services)))


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
    return Ladder(names.pop(), stack, tuple(one[2] for one in found), tuple(one[1] for one in found))


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


def verdict_of(ranking: Ranking, old: str, new: str) -> str:
    """What a release is relative to an older one; empty where they are not compared."""
    for one in ranking.contrasts:
        if (one.a, one.b) == (old, new):
            return one.verdict
        if (one.a, one.b) == (new, old):
            return TURNED[one.verdict]
    return ""

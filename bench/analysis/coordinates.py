"""What the services of a run are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.core.files import mapping
from bench.matrix.service import stack_name
from bench.plan.running import UNKNOWN
from bench.records.record import Record


@dataclass(frozen=True, slots=True)
class Coordinates:
    """What a service is made of."""

    server: str
    framework: str
    python: str
    base: str
    package: str | None
    settings: str | None = None
    """What --vary gave it: `WORKERS=2 THREADS=4`."""

    @property
    def stack(self) -> str:
        """Server x framework."""
        return stack_name(self.server, self.framework)


Places = Mapping[str, Coordinates]
"""By the name of the service."""


def coordinates_of(record: Record) -> Coordinates:
    """What the service of a record is made of."""
    return Coordinates(**{name: getattr(record, name) for name in Coordinates.__slots__})


def places_of(facts: Mapping[str, Any], records: Iterable[Record]) -> dict[str, Coordinates]:
    """What each service of a run is made of, from run.json, else from its records."""
    found = {record.service: coordinates_of(record) for record in records if record.mode != "null"}
    for name, entry in mapping(facts.get("services")).items():
        words = {key: value for key, value in mapping(entry).items() if isinstance(value, str)}
        if {"server", "framework", "python", "base"} <= words.keys():
            server, framework, python, base = (words[key] for key in ("server", "framework", "python", "base"))
            found[name] = Coordinates(server, framework, python, base, words.get("package"), words.get("settings"))
    return found


def differing(services: Iterable[str], places: Places) -> set[str]:
    """The coordinates in which services differ, as far as these are known."""
    known = [places[name] for name in services if name in places]
    return {name for name in Coordinates.__slots__ if len({getattr(place, name) for place in known} - {UNKNOWN}) > 1}

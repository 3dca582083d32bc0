"""The services of a run according to run.json: what each consists of, which belong together, what can wait in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.core.groups import grouped
from bench.core.service_settings import NO_SETTINGS, Settings
from bench.matrix.knobs import REF
from bench.matrix.model import stack_name
from bench.matrix.start_command import Waits
from bench.plan.measurement import Pair
from bench.plan.running import UNKNOWN
from bench.records.event import EventRecord
from bench.records.record import Record
from bench.run.facts import RunFacts, RunService
from bench.run.reader import ServiceFacts


@dataclass(frozen=True, slots=True)
class Coordinates:
    """What a service consists of."""

    server: str
    framework: str
    python: str
    base: str
    package: str | None
    settings: Settings = NO_SETTINGS

    @property
    def stack(self) -> str:
        """Server x framework."""
        return stack_name(self.server, self.framework)


Places = Mapping[str, Coordinates]
"""Coordinates by the name of the service."""


def coordinates_of(known: Record | EventRecord | RunService) -> Coordinates:
    """What a service consists of."""
    return Coordinates(**{name: getattr(known, name) for name in Coordinates.__slots__})


def places_of(facts: RunFacts, records: Iterable[Record]) -> dict[str, Coordinates]:
    """What each service of a run consists of, from run.json, else from its records."""
    places = {record.service: coordinates_of(record) for record in records if record.mode != "null"}
    parts = ("server", "framework", "python", "base")
    known = {name: one for name, one in facts.services.items() if all(getattr(one, part) for part in parts)}
    return places | {name: coordinates_of(service) for name, service in known.items()}


def differing(services: Iterable[str], places: Places) -> set[str]:
    """The coordinates in which services differ, as far as they are known."""
    known = [places[name] for name in services if name in places]
    return {name for name in Coordinates.__slots__ if len({getattr(place, name) for place in known} - {UNKNOWN}) > 1}


def varied_knobs(settings: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The knobs that these settings of services differ in."""
    names = dict.fromkeys(name for knobs in settings for name in knobs)
    return tuple(name for name in names if len({knobs.get(name) for knobs in settings}) > 1)


SAME = ("stack", "python", "base", "settings")
"""What a service and its base share."""


def pairs_of(facts: RunFacts) -> tuple[Pair, ...]:
    """(base, head) for each service that a run has from two refs, or with several versions of a package."""
    return facts.pairs or (facts.refs.pairs if facts.refs else ()) or (*_of_packages(facts.services),)


def _of_packages(services: Mapping[str, RunService]) -> Iterator[Pair]:
    """For a run that does not list its pairs: each further version of a package with the first one."""
    groups = grouped(services, lambda name: tuple(getattr(services[name], key) for key in SAME))
    for first, *others in groups.values():
        if any(services[name].package for name in (first, *others)):
            yield from ((first, other) for other in others)


def ref_of(place: Coordinates) -> str:
    """The ref that a service is from; empty if it is from none."""
    return place.settings.get(REF, "")


def waits_of(facts: RunFacts, services: Mapping[str, ServiceFacts]) -> dict[str, Waits]:
    """What can wait at once in each service, from its start command; none for services whose command was not saved."""
    waits = {}
    for name, service in services.items():
        known = facts.service(name)
        if service.command is not None and known.concurrent is not None:
            waits[name] = service.command.waits(known.notes.get("default", ""), concurrent=known.concurrent)
    return waits

"""The services of a run according to run.json: what each consists of, which belong together, a user's own app."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.core.files import items, mapping
from bench.core.groups import grouped
from bench.matrix.knobs import REF
from bench.matrix.model import stack_name
from bench.matrix.start_command import Waits
from bench.plan.measurement import Pair, settings_of
from bench.plan.running import UNKNOWN
from bench.records.event import EventRecord
from bench.records.record import Record
from bench.run.reader import ServiceFacts


@dataclass(frozen=True, slots=True)
class Coordinates:
    """What a service consists of."""

    server: str
    framework: str
    python: str
    base: str
    package: str | None
    settings: str | None = None
    """Its settings from --vary: `WORKERS=2 THREADS=4`."""

    @property
    def stack(self) -> str:
        """Server x framework."""
        return stack_name(self.server, self.framework)

    @property
    def knobs(self) -> dict[str, str]:
        """Its settings by name."""
        return settings_of(self.settings)


Places = Mapping[str, Coordinates]
"""Coordinates by the name of the service."""


def coordinates_of(record: Record | EventRecord) -> Coordinates:
    """What the service of a record consists of."""
    return Coordinates(**{name: getattr(record, name) for name in Coordinates.__slots__})


def places_of(facts: Mapping[str, Any], records: Iterable[Record]) -> dict[str, Coordinates]:
    """What each service of a run consists of, from run.json, else from its records."""
    found = {record.service: coordinates_of(record) for record in records if record.mode != "null"}
    for name, entry in mapping(facts.get("services")).items():
        words = {key: value for key, value in mapping(entry).items() if isinstance(value, str)}
        if {"server", "framework", "python", "base"} <= words.keys():
            server, framework, python, base = (words[key] for key in ("server", "framework", "python", "base"))
            found[name] = Coordinates(server, framework, python, base, words.get("package"), words.get("settings"))
    return found


def differing(services: Iterable[str], places: Places) -> set[str]:
    """The coordinates in which services differ, as far as they are known."""
    known = [places[name] for name in services if name in places]
    return {name for name in Coordinates.__slots__ if len({getattr(place, name) for place in known} - {UNKNOWN}) > 1}


SAME = ("stack", "python", "base", "settings")
"""What a service and its base share."""


def pairs_of(facts: Mapping[str, Any]) -> tuple[Pair, ...]:
    """(base, head) for each service that a run has from two refs, or with several versions of a package."""
    listed = facts.get("pairs") or mapping(facts.get("refs")).get("pairs")
    found = map(items, items(listed) if listed else _of_packages(facts))
    return tuple((str(pair[0]), str(pair[1])) for pair in found if len(pair) == 2)


def _of_packages(facts: Mapping[str, Any]) -> list[list[str]]:
    """For a run that does not list its pairs: each further version of a package with the first one."""
    services = {name: mapping(entry) for name, entry in mapping(facts.get("services")).items()}
    groups = grouped(services, lambda name: tuple(services[name].get(key) for key in SAME))
    versions = [names for names in groups.values() if any(services[name].get("package") for name in names)]
    return [[first, other] for first, *others in versions for other in others]


def ref_of(place: Coordinates) -> str:
    """The ref that a service is from; empty if it is from none."""
    return place.knobs.get(REF, "")


Facts = Mapping[str, Any]
"""run.json, or an entry of it."""
SECONDS_PER_HOUR = 3600


def own_app_of(facts: Facts) -> Facts:
    """run.json's entry of the app; empty in a run of the matrix."""
    return mapping(facts.get("own_app"))


def service_of(facts: Facts, service: str) -> Facts:
    """run.json's entry of a service."""
    return mapping(mapping(facts.get("services")).get(service))


def own_packages(facts: Facts, service: str, packages: Mapping[str, str]) -> list[str]:
    """`flask 3.1.3`: the packages of a service that its server and framework are named after."""
    entry = service_of(facts, service)
    server, framework = str(entry.get("server", "")), str(entry.get("framework", ""))
    wanted = {server, framework, *server.split("-")}
    return [f"{package} {version}" for package, version in packages.items() if package in wanted]


def waits_of(facts: Facts, services: Mapping[str, ServiceFacts]) -> dict[str, Waits]:
    """What can wait at once in each service, from its start command; none for services whose command was not saved."""
    found = {}
    for name, service in services.items():
        concurrent = service_of(facts, name).get("concurrent")
        if service.command is not None and isinstance(concurrent, bool):
            found[name] = service.command.waits(caveats_of(facts, name).get("default", ""), concurrent=concurrent)
    return found


Caveats = Mapping[str, str]
"""What to know about a service's server beside its figures, each missing if there is nothing:

- `development`: what its documentation says, if it is not meant for production;
- `stall`: why its responses on kept connections wait for delayed TCP acknowledgements;
- `adds`, `sets`: what this project adds to it, and sets otherwise;
- `default`, `source`: how many requests can wait at once in it without this project's flags, and who says so.
"""


def caveats_of(facts: Facts, service: str) -> Caveats:
    """The caveats of a service, as far as run.json has them."""
    entry = service_of(facts, service)
    known = {**mapping(entry.get("notes")), "development": entry.get("development")}
    return {name: str(text) for name, text in known.items() if text}


def worker_count(facts: Facts) -> str:
    """The number of worker processes of every service."""
    return str(mapping(facts.get("knobs")).get("WORKERS") or "?")


def price_of(app: Facts, cpu_us: float) -> float | None:
    """What a million requests cost, in the unit of the price of a CPU hour; None without a price."""
    price = app.get("cpu_hour_price")
    # CPU time in µs per request equals seconds per million requests.
    return float(price) * cpu_us / SECONDS_PER_HOUR if isinstance(price, int | float) else None

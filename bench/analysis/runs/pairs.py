"""Which services of a run are compared with each other, as its plan says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.analysis.coordinates import Coordinates
from bench.core.files import items, mapping
from bench.core.groups import grouped
from bench.matrix.knobs import REF
from bench.plan.measurement import Pair, settings_of

SAME = ("stack", "python", "base", "settings")
"""What a service and its base have in common."""


def pairs_of(facts: Mapping[str, Any]) -> tuple[Pair, ...]:
    """(base, head) of each service that a run has from two refs, or with several versions of a package."""
    listed = facts.get("pairs") or mapping(facts.get("refs")).get("pairs")
    found = map(items, items(listed) if listed else _of_packages(facts))
    return tuple((str(pair[0]), str(pair[1])) for pair in found if len(pair) == 2)


def _of_packages(facts: Mapping[str, Any]) -> list[list[str]]:
    """Of a run whose plan does not have them yet."""
    services = {name: mapping(entry) for name, entry in mapping(facts.get("services")).items()}
    groups = grouped(services, lambda name: tuple(services[name].get(key) for key in SAME))
    versions = [names for names in groups.values() if any(services[name].get("package") for name in names)]
    return [[first, other] for first, *others in versions for other in others]


def ref_of(place: Coordinates) -> str:
    """The ref that a service is from; empty if it is none of two."""
    return settings_of(place.settings).get(REF, "")

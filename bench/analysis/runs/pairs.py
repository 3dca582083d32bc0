"""Which services of a run are compared with each other: those of two refs, and versions of a package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.analysis.coordinates import Coordinates
from bench.core.files import items, mapping
from bench.core.groups import grouped
from bench.matrix.knobs import REF
from bench.plan.measurement import settings_of

Pair = tuple[str, str]
"""The names of a base and of its head."""
SAME = ("stack", "python", "base", "settings")
"""What a service and its base have in common."""


def pairs_of(facts: Mapping[str, Any]) -> tuple[Pair, ...]:
    """The services of two refs that belong together, from run.json; none of a run without refs."""
    found = map(items, items(mapping(facts.get("refs")).get("pairs")))
    return tuple((str(pair[0]), str(pair[1])) for pair in found if len(pair) == 2)


def ref_of(place: Coordinates) -> str:
    """The ref that a service is from; empty if it is none of two."""
    return settings_of(place.settings).get(REF, "")


def package_pairs(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(base, head) of every service that a run has with several versions of a package, in the order of the plan."""
    services = facts["services"]
    groups = grouped(services, lambda name: tuple(services[name].get(key) for key in SAME))
    versions = [names for names in groups.values() if any(services[name].get("package") for name in names)]
    return [(first, other) for first, *others in versions for other in others]

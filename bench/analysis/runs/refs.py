"""Two refs that a run compares: which services belong together, and which ref each is from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.analysis.coordinates import Coordinates
from bench.core.files import items, mapping
from bench.matrix.knobs import REF
from bench.plan.measurement import settings_of

Pair = tuple[str, str]
"""The names of a base and of its head."""


def pairs_of(facts: Mapping[str, Any]) -> tuple[Pair, ...]:
    """The services of two refs that belong together, from run.json; none of a run without refs."""
    found = map(items, items(mapping(facts.get("refs")).get("pairs")))
    return tuple((str(pair[0]), str(pair[1])) for pair in found if len(pair) == 2)


def ref_of(place: Coordinates) -> str:
    """The ref that a service is from; empty if it is none of two."""
    return settings_of(place.settings).get(REF, "")

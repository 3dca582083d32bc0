"""Short names of services: what they differ in."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.coordinates import Coordinates, Places, differing
from bench.matrix.knobs import REF
from bench.plan.measurement import settings_of
from bench.plan.running import UNKNOWN
from bench.words.settings import setting_words


def labels_of(services: Sequence[str], places: Places) -> dict[str, str]:
    """Short names of a table's services: what they differ in; their whole names where that is not enough."""
    differs = differing(services, places)
    found = {name: (label_of(places[name], differs) if name in places else "") or name for name in services}
    return found if len(set(found.values())) == len(services) else {name: name for name in services}


def label_of(place: Coordinates, differs: set[str]) -> str:
    """The coordinates of a service, out of those that `differs` names."""
    stack = {"server", "framework"} & differs
    parts = [coordinate_words(place, stack.pop()) if len(stack) == 1 else place.stack] if stack else []
    told = [name for name in ("python", "base", "package") if name in differs and place.python != UNKNOWN]
    parts += [coordinate_words(place, name) for name in told]
    if "settings" not in differs or not place.settings:
        return ", ".join(parts)
    own = settings_of(place.settings)
    parts = [*filter(None, [own.pop(REF, "")]), *parts]
    words = setting_words(own)
    return " with ".join(filter(None, (", ".join(parts), words)))


def coordinate_words(place: Coordinates, name: str) -> str:
    """One coordinate: `Python 3.13`, `aiohttp 3.14.5`."""
    if name == "python":
        return f"Python {place.python}"
    if name == "package":
        return place.package.replace("==", " ") if place.package else "the locked version"
    return str(getattr(place, name))

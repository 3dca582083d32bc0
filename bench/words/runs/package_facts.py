"""What the setup of a run says of `--package`: where each version is from, and what else it brought with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.core.files import items, mapping
from bench.matrix.packages import normalised
from bench.run.reader import ServiceFacts


def package_facts(facts: Mapping[str, Any], services: Mapping[str, ServiceFacts]) -> Iterator[str]:
    """A line for each wheel, then one for each service with other dependencies than the first of its stack."""
    for entry in map(mapping, items(facts.get("packages"))):
        name = f"{entry.get('package') or entry.get('name')} on {entry.get('python')}"
        made = f"left out: {entry['cause']}" if entry.get("cause") else f"wheel {str(entry.get('sha256'))[:12]}"
        yield f"{name}: {entry.get('from')}; {made}"
    first: dict[tuple[str, ...], str] = {}
    for name, entry in mapping(facts.get("services")).items():
        place = tuple(str(mapping(entry).get(key)) for key in ("stack", "python", "base"))
        base = first.setdefault(place, name)
        package = mapping(entry).get("package")
        if not isinstance(package, str) or base == name or not (base in services and name in services):
            continue
        own = {normalised(one.partition("==")[0]) for one in (package, str(_package(facts, base)))}
        words = _otherwise(services[base].packages, services[name].packages, own)
        if words:
            yield f"{name} also has other dependencies than {base}: {', '.join(words)}"


def _package(facts: Mapping[str, Any], service: str) -> Any:
    return mapping(mapping(facts.get("services")).get(service)).get("package")


def _otherwise(one: Mapping[str, str], other: Mapping[str, str], own: set[str]) -> list[str]:
    """What differs, besides the packages that are compared; nothing where what one has is not known."""
    if not one or not other:
        return []
    return [
        f"{key} {other.get(key, 'none')} (there {one.get(key, 'none')})"
        for key in sorted({*one, *other} - own)
        if one.get(key) != other.get(key)
    ]

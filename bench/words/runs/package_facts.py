"""What the setup of a run says of `--package`: where each version is from, and what else it brought with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.analysis.runs.pairs import pairs_of
from bench.core.files import items, mapping
from bench.matrix.packages import normalised
from bench.run.reader import ServiceFacts


def package_facts(facts: Mapping[str, Any], services: Mapping[str, ServiceFacts]) -> Iterator[str]:
    """A line for each wheel, then one for each service with other dependencies than its base."""
    for entry in map(mapping, items(facts.get("packages"))):
        name = f"{entry.get('package') or entry.get('name')} on {entry.get('python')}"
        made = f"left out: {entry['cause']}" if entry.get("cause") else f"wheel {str(entry.get('sha256'))[:12]}"
        yield f"{name}: {entry.get('from')}; {made}"
    entries = mapping(facts.get("services"))
    for base, head in pairs_of(facts):
        had, package = (mapping(entries.get(name)).get("package") for name in (base, head))
        if package and {base, head} <= services.keys():
            own = {normalised(str(one).partition("==")[0]) for one in (package, had)}
            words = _otherwise(services[base].packages, services[head].packages, own)
            if words:
                yield f"{head} also has other dependencies than {base}: {', '.join(words)}"


def _otherwise(one: Mapping[str, str], other: Mapping[str, str], own: set[str]) -> list[str]:
    """What differs, besides the packages that are compared; nothing where what one has is not known."""
    if not one or not other:
        return []
    return [
        f"{key} {other.get(key, 'none')} (there {one.get(key, 'none')})"
        for key in sorted({*one, *other} - own)
        if one.get(key) != other.get(key)
    ]

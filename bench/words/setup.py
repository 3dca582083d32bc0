"""A run's setup in words: machines, servers that already ran, packages, a user's own app."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.analysis.services import own_app_of, pairs_of
from bench.core.files import items, mapping
from bench.matrix.packages import normalised
from bench.plan.running import NO_CONTAINER, OWNED
from bench.records.counters import whole
from bench.run.reader import Run, ServiceFacts
from bench.words.own_app import request_words


def machines_words(machines: Mapping[str, Any]) -> str:
    """Which machine ran what, and how isolation differs from a single machine; `machines` is run.json's entry."""
    server, loadgen, published = (machines.get(key) or "unknown" for key in ("server", "loadgen", "published"))
    return (
        f"services, database and upstream on {server}, load generator on {loadgen}; ports are published only on "
        f"{published}, in the unencrypted network between the two machines; unlike on one machine, services have a "
        "route out of their network there, without masquerading. `host`: where the scripts ran"
    )


LANES = "lanes"
"""The key in run.json."""


def side_by_side(source: Run) -> Iterator[tuple[str, str]]:
    """(name, words), only for a run that used several pairs of nodes, or left some out."""
    entry = mapping(source.facts.get(LANES))
    if (whole(entry.get("most")) or 1) > 1:
        yield "pairs of nodes", " ".join(_lane_sentences(source))
    if left_out := items(entry.get("left_out")):
        yield "nodes left out", f"{'; '.join(map(str, left_out))}: figures of nodes of several kinds are not compared"


def _lane_sentences(source: Run) -> Iterator[str]:
    yield "In each round, every block of services in turns was assigned to a random pair of nodes;"
    yield "solo windows with the same server, framework, Python, base and scenario stayed together."
    if shared := items(mapping(source.facts.get(LANES)).get("shared")):
        yield f"Databases and upstreams of several pairs shared {', '.join(map(str, shared))}:"
        yield "scenarios that use them share their noise."


ALREADY_RUNNING = "already running"


def already_running(source: Run) -> Iterator[tuple[str, str]]:
    """(name, words) for each server that was already running."""
    for name, entry in mapping(source.facts.get("services")).items():
        if mapping(entry).get("url"):
            yield ALREADY_RUNNING, " ".join(_running_sentences(source, str(name), mapping(entry)))


def _running_sentences(source: Run, name: str, entry: Mapping[str, Any]) -> Iterator[str]:
    planned = [one for one in source.planned if one.service == name]
    app = own_app_of(source.facts)
    asked = dict.fromkeys(request_words(app, o.scenario) if app else f"{o.method} {o.path}" for o in planned)
    yield f"{name} is {entry['url']}, loaded with {'; '.join(asked)}."
    yield f"It is {NO_CONTAINER}: it has no counters and no CPU or memory limit."
    if any(one.mode == "turns" for one in planned):
        yield "Its tables are ranked by requests/s; the load comes from the host's network."
    else:
        yield "It is measured alone, from the host's network, and has no rank."
    yield "It has to respond as the app does." if app else "Its first responses are taken as correct."
    if entry.get("owned"):
        yield f"It is not on this machine: the user states that they own it ({OWNED})."


def package_facts(facts: Mapping[str, Any], services: Mapping[str, ServiceFacts]) -> Iterator[str]:
    """A line for each wheel, then one for each service whose other dependencies differ from its base's."""
    for entry in map(mapping, items(facts.get("packages"))):
        name = f"{entry.get('package') or entry.get('name')} on {entry.get('python')}"
        made = f"left out: {entry['cause']}" if entry.get("cause") else f"wheel {str(entry.get('sha256'))[:12]}"
        yield f"{name}: {entry.get('from')}; {made}"
    entries = mapping(facts.get("services"))
    for base, head in pairs_of(facts):
        had, package = (mapping(entries.get(name)).get("package") for name in (base, head))
        if package and {base, head} <= services.keys():
            own = {normalised(str(one).partition("==")[0]) for one in (package, had)}
            words = _otherwise(base, services[base].packages, services[head].packages, own)
            if words:
                yield f"{head} also differs from {base} in dependencies: {', '.join(words)}"


def _otherwise(base: str, one: Mapping[str, str], other: Mapping[str, str], own: set[str]) -> list[str]:
    """What differs, besides the packages that are compared; empty if the packages of one are unknown."""
    if not one or not other:
        return []
    return [
        f"{key} {other.get(key, 'none')} ({base}: {one.get(key, 'none')})"
        for key in sorted({*one, *other} - own)
        if one.get(key) != other.get(key)
    ]

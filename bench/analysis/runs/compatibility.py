"""Whether figures of two runs can be compared.

Everything that affects a figure must be known and equal in both; a fact that is missing in one of them counts as
different. Differences that users make on purpose (packages, services, rounds) are noted and do not prevent a
comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import objects_in
from bench.core.formats import first_of
from bench.core.groups import grouped
from bench.plan.running import UNKNOWN
from bench.records.file import read_records
from bench.records.record import Record
from bench.run.facts import Harness, RunFacts
from bench.run.folder import node_kinds
from bench.run.reader import ServiceFacts, read_run, read_service
from bench.validity.run_records import reviewed, service_names


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """What run.json says of a run, the plan's lines, the records and the facts of each service."""

    run: RunFacts
    plan: Sequence[Mapping[str, Any]]
    records: Sequence[Record]
    services: Mapping[str, ServiceFacts]
    changed: tuple[str, ...] = ()
    """Files of the plan whose content no longer matches run.json."""
    node_kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of node for each role, in a run on several machines."""


def read_compared(path: str) -> ComparedRun:
    """The facts of a results folder, from records.jsonl if it can be read, else from the raw files."""
    source = read_run(path)
    services = {name: read_service(path, name) for name in service_names(source)}
    return ComparedRun(
        run=source.facts,
        plan=objects_in(f"{path}/plan.jsonl"),
        records=_records(path) or reviewed(source, services),
        services=services,
        changed=source.changed,
        node_kinds=node_kinds(path),
    )


def _records(path: str) -> list[Record]:
    with suppress(UserError):
        return read_records(Path(path))
    return []


# Settings that choose what is measured, how often, in which order and where; all others affect the figures. The
# images themselves are compared by service.
FREE_SETTINGS = frozenset(
    {"WORKER_CLASS", "DURATION", "ROUNDS", "SEED", "SELECTION", "BENCH_SUBNET", "COMPOSE_SERVICES"}
    | {"PYTHON_IMAGE", "PYPY_IMAGE", "DEBIAN_IMAGE", "ALPINE_PYTHON_IMAGE", "BENCH_REGISTRY"}
)
# How a load is requested, besides its scenario, tool and level.
LOAD_FIELDS = (
    *("method", "path", "body", "duration_s", "timeout_s", "warmup_s", "threads", "keepalive"),
    *("connections", "count"),
)
MEMORY_SLACK = 0.01
"""Share by which the memory size may differ between two boots of one machine."""


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One fact that differs between two runs; `forbids` a comparison if figures depend on it."""

    name: str
    one: str
    other: str
    forbids: bool = True
    why: str = ""


def discrepancies_of(run: ComparedRun, other: ComparedRun) -> list[Discrepancy]:
    """Every difference between two runs, those that forbid a comparison first; pure."""
    discrepancies = [*_integrity(run, other), *conditions(run.run, other.run)]
    discrepancies += _mapped("kind of node for", run.node_kinds, other.node_kinds)
    discrepancies += [*_tools(run, other), *_loads(run, other), *_services(run, other)]
    return sorted(discrepancies, key=lambda difference: not difference.forbids)


def conditions(run: RunFacts, other: RunFacts) -> Iterator[Discrepancy]:
    """What differs in the project, its images, the engine, the machine and the settings."""
    yield from _harness(run, other)
    yield from _machine(run, other)
    first, second = ({k: v for k, v in facts.knobs.items() if k not in FREE_SETTINGS} for facts in (run, other))
    yield from _mapped("setting", first, second)


def _integrity(run: ComparedRun, other: ComparedRun) -> Iterator[Discrepancy]:
    for name in dict.fromkeys([*run.changed, *other.changed]):
        words = ["modified" if name in facts.changed else "as planned" for facts in (run, other)]
        yield Discrepancy(name, words[0], words[1], why="by its sha256 in run.json")


def _harness(run: RunFacts, other: RunFacts) -> Iterator[Discrepancy]:
    first, second = run.harness, other.harness
    if first.hash != second.hash:
        known = first.parts and second.parts
        differ = [name for name, part in first.parts.items() if part != second.parts.get(name)] if known else []
        yield Discrepancy("harness", _version(first), _version(second), why=", ".join(differ))
    yield from _mapped("image of", first.images, second.images)
    for name in ("containers", "engine"):
        yield from _differs(name, getattr(run, name), getattr(other, name))


def _version(harness: Harness) -> str:
    return f"{harness.version or UNKNOWN} ({(harness.hash or UNKNOWN)[:12]})"


def _machine(run: RunFacts, other: RunFacts) -> Iterator[Discrepancy]:
    first, second = dict(run.host), dict(other.host)
    sizes = [size for host in (first, second) if isinstance(size := host.get("memory_bytes"), int)]
    if len(sizes) == 2 and max(sizes) - min(sizes) <= MEMORY_SLACK * max(sizes):
        second["memory_bytes"] = first["memory_bytes"]
    yield from _mapped("host", first, second)


def _tools(run: ComparedRun, other: ComparedRun) -> Iterator[Discrepancy]:
    """Versions and limits of the tools that both runs used."""
    first, second = _by_tool(run.records), _by_tool(other.records)
    for tool in sorted(first.keys() & second.keys()):
        yield from _differs(f"version of {tool}", *(_set(r.tool_version for r in s[tool]) for s in (first, second)))
    if first.keys() & second.keys():
        limits = (_set(_words(r.loadgen_limits) for r in facts.records) for facts in (run, other))
        yield from _differs("limits of the load generator", *limits)


def _by_tool(records: Iterable[Record]) -> dict[str, list[Record]]:
    return grouped((record for record in records if record.tool_version is not None), lambda record: record.tool)


def _loads(run: ComparedRun, other: ComparedRun) -> Iterator[Discrepancy]:
    """How the cells that both have were loaded, for any service; without a common cell the runs are incompatible."""
    first, second = grouped(run.plan, _cell), grouped(other.plan, _cell)
    if not (both := [cell for cell in first if cell in second]):
        yield Discrepancy("loads", _few(first), _few(second), why="no scenario, tool and level in common")
    for cell in both:
        for name in LOAD_FIELDS:
            words = [_set(_value(line.get(name)) for line in lines[cell]) for lines in (first, second)]
            yield from _differs(f"{name} of {' '.join(cell)}", *words)
    if both:
        words = [_few([cell for cell in lone if cell not in both]) for lone in (first, second)]
        yield from _differs("loads in only one run", *words, forbids=False)
    rounds = (len({line.get("round") for line in facts.plan}) for facts in (run, other))
    yield from _differs("rounds", *rounds, forbids=False)


def _cell(line: Mapping[str, Any]) -> tuple[str, ...]:
    cell = (str(line.get(key)) for key in ("scenario", "tool", "level"))
    # Windows measured alone and windows in turns give different kinds of figures.
    return (*cell, *([line["mode"]] if line.get("mode", "solo") != "solo" else []))


def _few(names: Iterable[str | tuple[str, ...]]) -> str:
    """Services, or cells as (scenario, tool, level), the first ones by name."""
    return first_of([name if isinstance(name, str) else " ".join(name) for name in names], 3) or "none"


def _services(run: ComparedRun, other: ComparedRun) -> Iterator[Discrepancy]:
    """What the services in both runs consist of."""
    for name in sorted(run.services.keys() & other.services.keys()):
        first, second = run.services[name], other.services[name]
        known = [side.run.service(name) for side in (run, other)]
        yield from _differs(f"base image of {name}", *(service.base_image for service in known))
        yield from _differs(f"settings of {name}", *(service.settings.text for service in known))
        yield from _differs(f"base of {name}", first.base_label, second.base_label)
        yield from _differs(f"Python of {name}", first.python_build, second.python_build)
        yield from _differs(f"limits of {name}", _words(first.limits), _words(second.limits))
        packages = list(_packages(first.packages, second.packages))
        yield from (Discrepancy(f"packages of {name}", *pair, forbids=False) for pair in packages)
        ids = [_image(facts, name) for facts in (run, other)]
        # Different packages explain a different image; with the same packages, something else has changed.
        why = "its packages differ" if packages else "same packages, but rebuilt: system packages may differ"
        yield from _differs(f"image of {name}", *ids, forbids=not packages, why=why)
    alone = (sorted(run.services.keys() - other.services.keys()), sorted(other.services.keys() - run.services.keys()))
    yield from _differs("services in only one run", *map(_few, alone), forbids=False)


def _packages(packages: Mapping[str, str], other: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys([*packages, *other]):
        if packages.get(name) != other.get(name):
            yield f"{name} {packages.get(name, 'none')}", f"{name} {other.get(name, 'none')}"


def _image(facts: ComparedRun, name: str) -> str | None:
    """The images that ran, else the one that was inspected."""
    ran = _set(record.image_id for record in facts.records if record.service == name and record.image_id)
    return ran or facts.services[name].image_id


def _mapped(what: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Discrepancy]:
    for name in dict.fromkeys([*one, *other]):
        yield from _differs(f"{what} {name}", one.get(name), other.get(name))


def _differs(name: str, one: Any, other: Any, *, forbids: bool = True, why: str = "") -> Iterator[Discrepancy]:
    if one != other:
        yield Discrepancy(name, _value(one), _value(other), forbids, why)


def _value(value: Any) -> str:
    if value is None or value == "":
        return UNKNOWN
    text = " ".join((value if isinstance(value, str) else json.dumps(value)).split())
    return text.removeprefix("sha256:")[:12] if text.startswith("sha256:") else text[:120]


def _words(values: Mapping[str, str] | None) -> str | None:
    return None if values is None else ", ".join(f"{name} {values[name]}" for name in sorted(values))


def _set(values: Iterable[str | None]) -> str | None:
    """The distinct values as one text; None if there are none."""
    return ", ".join(sorted({value for value in values if value is not None})) or None

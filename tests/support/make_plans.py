"""Plans of the project's own matrix, on a machine that has only Debian's images and one CPU for servers."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from places import ROOT

from bench.core.errors import UserError
from bench.matrix.compose import run_services
from bench.matrix.knobs import parse_knob, reader
from bench.matrix.load import load_matrix
from bench.matrix.model import Matrix, Service
from bench.matrix.packages import locked
from bench.plan.cells import Plan, PlannedCell
from bench.plan.make import make_plan
from bench.plan.selection import Selection
from bench.plan.variants import Variant
from bench.tools.levels import Level

MATRIX = load_matrix(ROOT / "services/matrix.toml")
HERE = Variant(
    matrix=MATRIX,
    settings={"WORKER_CLASS": "sync"},
    reachable=lambda service: service.base == "debian",
    reads=reader(ROOT / "services"),
    pins=locked(ROOT / "services/locks"),
)


def selection(vary: Iterable[str], levels: Iterable[str] = (), **wanted: Any) -> Selection:
    return Selection(vary=tuple(map(parse_knob, vary)), levels=tuple(map(Level.parse, levels)), **wanted)


def plan(*vary: str, settings: dict[str, str] | None = None, **wanted: Any) -> Plan:
    """The plan of a selection with these knobs; `settings` extend those of `HERE`."""
    here = replace(HERE, settings={**HERE.settings, **(settings or {})})
    return make_plan(here, selection(vary, **wanted))


def asked_in(file: Path) -> Iterator[tuple[str, tuple[str, ...], dict[str, Any]]]:
    """The cases of a TOML file with selections: (case, knobs, everything else)."""
    for case, wanted in tomllib.loads(file.read_text()).items():
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in wanted.items()}
        yield case, given.pop("vary", ()), given


def plans(file: Path) -> Iterator[tuple[str, Callable[[], Plan]]]:
    """The cases of a TOML file with selections, and their plans."""
    return ((case, partial(plan, *vary, **wanted)) for case, vary, wanted in asked_in(file))


def composed(matrix: Matrix, services: Iterable[Service]) -> dict[str, dict[str, Any]]:
    """The services of a run's Compose file."""
    return services_in(run_services(matrix, services))


def services_in(text: str) -> dict[str, dict[str, Any]]:
    """The services of a generated Compose file."""
    found: dict[str, dict[str, Any]] = {}
    for line in text.splitlines()[1:]:
        if name := re.match(r"  ([a-z0-9-]+):$", line):
            own = found.setdefault(name[1], {})
        elif pair := re.match(r"    ([a-z_]+): (.*)$", line):
            own[pair[1]] = json.loads(pair[2])
    return found


def told(wanted: Callable[[], Plan]) -> list[str]:
    """A plan as lines: its services and pairs, loads, and what is left out; or the error.

    Without lists of everything in the matrix, because a new entry must not change a test.
    """
    try:
        made = wanted()
    except UserError as error:
        return [f"error: {re.sub(r'; (there are|did you|scripts/|servers that|those that).*', '', str(error))}"]
    preset = made.preset
    rounds = f"{made.solo_rounds or made.event_rounds} rounds alone, at most {made.turn_rounds} in turns"
    published = f", published as {preset.published}" if preset.published else ""
    workers = f", {preset.workers} workers" if preset.workers else ""
    lines = [f"{preset.name}: {preset.title} ({rounds}{workers}{published})"]
    for service in made.services:
        more = (service.settings.text, service.package, service.url)
        image = [] if service.built_as == service.name else [f"image {service.image}"]
        lines.append(" ".join(["service", service.name, *filter(None, more), *image]))
    lines += [f"{head} is compared with {base}" for base, head in made.pairs]
    for table in made.tables:
        waits = ", judged by goodput" if table.waits else ""
        then = "".join(f", then {level}" for level in table.shares)
        lines.append(f"in turns of {table.turn_s} s{waits}: {_load(table.first)}: {_stacks(table.cells)}{then}")
    alone: dict[str, list[PlannedCell]] = {}
    for cell in (*made.alone, *made.events):
        beside = cell.event and not cell.event.alone
        alone.setdefault(f"{'side by side' if beside else 'alone'}: {_load(cell)}", []).append(cell)
    lines += [f"{load}: {_stacks(cells)}" for load, cells in alone.items()]
    lines += [f"null server: {_load(cell)}" for cell in made.nulls]
    for skip in made.skips:
        lines.append(f"skipped: {' '.join(filter(None, (skip.service, skip.scenario, skip.tool)))}: {skip.cause}")
    return lines


def _load(cell: PlannedCell) -> str:
    return f"{cell.scenario} {cell.tool} {cell.level}"


def _stacks(cells: Iterable[PlannedCell]) -> str:
    counts = Counter(cell.service.stack for cell in cells)
    return ", ".join(f"{count} {stack}" if count > 1 else stack for stack, count in counts.items())

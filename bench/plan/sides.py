"""Two refs of a repository in one plan: each service of a selection twice, as it is on one side and on the other.

scripts/compare.sh checks the refs out, and lists them in a folder. A side has a matrix, settings and build contexts of
its own; the harness, with its routes, presets and limits, is the current one for both.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.matrix.knobs import REF, Reads, host_name, reader
from bench.matrix.load import load_matrix
from bench.matrix.model import Matrix
from bench.matrix.preset import Preset
from bench.matrix.service import Service
from bench.matrix.settings import SETTINGS, read_env
from bench.plan.cells import PlannedCell, SkippedCell
from bench.plan.selection import Selection, any_match, select_services, with_settings
from bench.plan.vary import Wanted, vary

SIDES = "sides.tsv"
"""Of the folder with the refs: `label name mark commit head dirty place` a line, the base first."""
CHANGED = "changed"
"""Beside it: the paths that differ, one a line."""
CLASS = "WORKER_CLASS"
TAKEN = ("WORKERS", "BACKLOG", "DB_POOL_TOTAL", "PYTHON_JIT", "MEMORY")
"""Settings that a side has of its own, besides `CLASS`; all others are of the run."""
_VARIABLE = f"${CLASS}"
_AXES = ("stacks", "pythons", "bases", "frameworks", "servers")
"""Names that a selection chooses by; a preset has some of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two; `label` is its ref, `name` that in the names of services, `mark` the end of its images' names.

    `head` is the commit that uncommitted changes are of, where `dirty`. `settings` are those of the run with its own.
    """

    label: str
    name: str
    mark: str
    commit: str
    head: str
    dirty: bool
    matrix: Matrix
    settings: Mapping[str, str]
    reads: Reads
    context: str = ""

    def of(self, service: Service, run: Mapping[str, str]) -> Service:
        """A service as it is here, with those settings of this side that it reads and that are not `run`'s."""
        own = {n: v for n in TAKEN if (v := self.settings[n]) != run[n] and self.reads(service, n) is None}
        settings = tuple(({REF: self.label} | own | dict(service.settings)).items())
        name = host_name(f"{service.name}-{self.name}", f"{service.name} {self.mark}")
        built_as = f"{service.built_as}-{self.mark}"
        return replace(service, name=name, settings=settings, plain=built_as, context=self.context)

    def facts(self) -> dict[str, Any]:
        """run.json's entry."""
        return {"ref": self.label, "commit": self.commit, "head": self.head, "dirty": self.dirty}


@dataclass(frozen=True, slots=True)
class Sides:
    """The base and the head, and the paths that differ."""

    base: Side
    head: Side
    changed: tuple[str, ...]
    run: Mapping[str, str]
    """The settings of the run."""

    @property
    def both(self) -> tuple[Side, Side]:
        """The base first."""
        return self.base, self.head

    def settings_for(self, service: Service) -> Mapping[str, str]:
        """The settings of the side that a service is of."""
        return self.head.settings if dict(service.settings).get(REF) == self.head.label else self.base.settings

    def notes(self) -> Iterator[str]:
        """Settings of .env that differ, and that a run has only once."""
        for name in SETTINGS:
            values = {side.settings.get(f".env {name}") for side in self.both}
            if len(values) > 1 and name not in (CLASS, *TAKEN):
                yield f"{name} differs as well, a setting of the whole run: both sides have {self.run[name]!r}"


def read_sides(folder: Path, run: Mapping[str, str], environ: Mapping[str, str], apps: Sequence[Matrix] = ()) -> Sides:
    """The sides that scripts/compare.sh has listed in a folder; UserError where the matrix of one cannot be read.

    `apps`: the current matrix with a user's own app of either side, where that is what they differ in.
    """
    lines = [line.split("\t") for line in (folder / SIDES).read_text(encoding="utf-8").splitlines()]
    base, head = (_side(line, run, environ, apps[n] if apps else None) for n, line in enumerate(lines))
    changed = (folder / CHANGED).read_text(encoding="utf-8", errors="replace").splitlines()
    return Sides(base, head, tuple(changed), run)


def _side(line: Sequence[str], run: Mapping[str, str], environ: Mapping[str, str], app: Matrix | None) -> Side:
    label, name, mark, commit, head, dirty, place = line
    context = "" if app else f"{place}/services"
    settings = dict(run)
    try:
        matrix = app or load_matrix(Path(context) / "matrix.toml")
    except UserError as error:
        words = re.sub(r"; (see|fix|run|compare) .*", "", str(error)).replace(f"{place}/", "")
        raise UserError(f"{label} cannot be measured by this project: {words}") from error
    for key, value in ({} if app else read_env(Path(place) / ".env")).items():
        if key not in SETTINGS:
            continue
        settings[f".env {key}"] = value
        if key not in (CLASS, *TAKEN) or environ.get(key):
            continue
        pattern, allowed = SETTINGS[key]
        if not re.fullmatch(pattern, value, re.ASCII):
            raise UserError(f"{key}={value!r} in .env of {label} is not {allowed}")
        settings[key] = value
    return Side(
        label=label,
        name=name,
        mark=mark,
        commit=commit,
        head=head,
        dirty=dirty == "1",
        matrix=matrix,
        settings=settings,
        reads=reader(Path(context or "services")),
        context=context,
    )


def choose(
    sides: Sides, preset: Preset, wanted: Selection, knobs: Sequence[Wanted], reachable: Callable[[Service], bool]
) -> tuple[list[Service], list[SkippedCell]]:
    """The services that both sides have, each of the base before its head, and what is left out.

    UserError for a name that neither side has.
    """
    skips: list[SkippedCell] = []
    found = []
    for side, other in (sides.both, (sides.head, sides.base)):
        every, missing = _services(side, other, preset, wanted), []
        for service in every:
            cause = service.skip or (None if reachable(service) else "base image not reachable")
            missing += [SkippedCell(service.name, f"{side.label}: {cause}")] if cause else []
        lost = {one.service for one in missing}
        kept, left_out = vary(side.matrix, [s for s in every if s.name not in lost], knobs, side.reads)
        skips += [*missing, *left_out]
        patterns = wanted.stacks or preset.stacks
        found.append({_key(side, service, patterns): side.of(service, sides.run) for service in kept})
    base, head = found
    pairs = [(one, head[key]) for key, one in base.items() if key in head]
    for own, others, label in ((base, head, sides.head.label), (head, base, sides.base.label)):
        skips += [
            SkippedCell(one.name, f"{label} has no such service") for key, one in own.items() if key not in others
        ]
    return [service for pair in pairs for service in pair], list(dict.fromkeys(skips))


def _services(side: Side, other: Side, preset: Preset, wanted: Selection) -> list[Service]:
    """Those of one side; a name that only the other one has is not unknown, and chooses none here."""
    selftests = [*preset.stacks, *wanted.stacks, *wanted.frameworks]
    matrices = [which.matrix.with_selftests(selftests) for which in (side, other)]
    own, found = (_known(one, side, other, *matrices) for one in (preset, wanted))
    return [] if own is None or found is None else select_services(matrices[0], own, found, side.settings)


def _known(one: Any, side: Side, other: Side, ours: Matrix, theirs: Matrix) -> Any:
    """A preset or a selection without the names that only the other side has; None where that leaves none of a list."""
    own, others = (_filled(one, which) for which in (side, other))
    for axis in (axis for axis in _AXES if hasattr(one, axis)):
        here, there = (list(getattr(matrix, axis)) for matrix in (ours, theirs))
        both = zip(getattr(own, axis), getattr(others, axis), strict=True)
        kept = tuple(p for p, q in both if fnmatch.filter(here, p) or not fnmatch.filter(there, q))
        if getattr(own, axis) and not kept:
            return None
        own = replace(own, **{axis: kept})
    return own


def _filled(one: Any, side: Side) -> Any:
    """A preset or a selection, with the settings of a side in the names of stacks."""
    return replace(one, stacks=tuple(with_settings(stack, side.settings) for stack in one.stacks))


def _key(side: Side, service: Service, patterns: Sequence[str]) -> tuple[object, ...]:
    """What the two services of a pair have in common; WORKER_CLASS may stand for two servers."""
    own = side.settings[CLASS]
    chosen = [p for p in patterns if _VARIABLE in p and any_match(service.stack, [with_settings(p, side.settings)])]
    stack = service.stack.replace(own, _VARIABLE, 1) if chosen else service.stack
    return stack, service.python, service.base, service.package, service.settings


def pairs_of(services: Sequence[Service]) -> list[tuple[Service, Service]]:
    """The two sides of each service that `choose` has found."""
    return list(zip(services[::2], services[1::2], strict=True))


def paired(cells: Sequence[PlannedCell], services: Sequence[Service], skips: list[SkippedCell]) -> list[PlannedCell]:
    """The cells of which the other side has one, too; what is left out is added to `skips`."""
    pairs = [(base.name, head.name) for base, head in pairs_of(services)]
    partner = {**dict(pairs), **{head: base for base, head in pairs}}
    there = {(cell.service.name, cell.scenario, cell.tool, cell.level.name) for cell in cells}
    kept = []
    for cell in cells:
        other = partner[cell.service.name]
        if (other, cell.scenario, cell.tool, cell.level.name) in there:
            kept.append(cell)
        else:
            cause = f"{other} is not measured under this load"
            skips.append(SkippedCell(cell.service.name, cause, cell.scenario, cell.tool))
    return kept

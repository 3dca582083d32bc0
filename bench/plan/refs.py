"""Two refs of a repository as the variants of a run.

scripts/compare.sh checks the refs out, and lists them in a folder. A ref has a matrix, settings and build contexts of
its own; the harness, with its routes, presets and limits, is the current one for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.matrix.knobs import reader
from bench.matrix.load import load_matrix
from bench.matrix.model import Matrix
from bench.matrix.packages import locked
from bench.matrix.settings import SETTINGS, read_env
from bench.plan.variants import CLASS, TAKEN, Variant

SIDES = "sides.tsv"
"""Of the folder with the refs: `label name mark commit head dirty place` a line, the base first."""
CHANGED = "changed"
"""Beside it: the paths that differ, one a line."""


@dataclass(frozen=True, slots=True)
class Ref:
    """One of the two. `head` is the commit that uncommitted changes are of, where `dirty`; `env` its own settings."""

    variant: Variant
    commit: str
    head: str
    dirty: bool
    env: Mapping[str, str]

    def facts(self) -> dict[str, Any]:
        """run.json's entry."""
        return {"ref": self.variant.label, "commit": self.commit, "head": self.head, "dirty": self.dirty}


@dataclass(frozen=True, slots=True)
class Refs:
    """The base and the head, the paths that differ, and the settings of the run."""

    base: Ref
    head: Ref
    changed: tuple[str, ...]
    run: Mapping[str, str]

    @property
    def variants(self) -> tuple[Variant, Variant]:
        """The base first."""
        return self.base.variant, self.head.variant

    def notes(self) -> Iterator[str]:
        """Settings of .env that differ, and that a run has only once."""
        for name in SETTINGS:
            if self.base.env.get(name) != self.head.env.get(name) and name not in (CLASS, *TAKEN):
                yield f"{name} differs as well, a setting of the whole run: both sides have {self.run[name]!r}"


def read_refs(folder: Path, run: Mapping[str, str], environ: Mapping[str, str], apps: Sequence[Matrix] = ()) -> Refs:
    """The refs that scripts/compare.sh has listed in a folder; UserError where the matrix of one cannot be read.

    `apps`: the current matrix with a user's own app of either ref, where that is what they differ in.
    """
    lines = [line.split("\t") for line in (folder / SIDES).read_text(encoding="utf-8").splitlines()]
    base, head = (_ref(line, run, environ, apps[n] if apps else None) for n, line in enumerate(lines))
    changed = (folder / CHANGED).read_text(encoding="utf-8", errors="replace").splitlines()
    return Refs(base, head, tuple(changed), run)


def _ref(line: Sequence[str], run: Mapping[str, str], environ: Mapping[str, str], app: Matrix | None) -> Ref:
    label, name, mark, commit, head, dirty, place = line
    context = "" if app else f"{place}/services"
    root = Path(context or "services")
    try:
        matrix = app or load_matrix(root / "matrix.toml")
    except UserError as error:
        words = re.sub(r"; (see|fix|run|compare) .*", "", str(error)).replace(f"{place}/", "")
        raise UserError(f"{label} cannot be measured by this project: {words}") from error
    env = {} if app else read_env(Path(place) / ".env")
    settings = dict(run)
    for key in (key for key in (CLASS, *TAKEN) if key in env and not environ.get(key)):
        pattern, allowed = SETTINGS[key]
        if not re.fullmatch(pattern, env[key], re.ASCII):
            raise UserError(f"{key}={env[key]!r} in .env of {label} is not {allowed}")
        settings[key] = env[key]
    variant = Variant(
        matrix=matrix,
        settings=settings,
        reads=reader(root),
        pins=locked(root / "locks"),
        label=label,
        name=name,
        mark=mark,
        context=context,
        own={key: settings[key] for key in TAKEN if settings[key] != run[key]},
    )
    return Ref(variant, commit, head, dirty == "1", env)

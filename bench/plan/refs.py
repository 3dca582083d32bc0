"""Two refs of the repository as the variants of a run, which services their difference affects, and stacks to show it.

scripts/compare.sh checks the refs out and lists them in a folder. Each ref has its own matrix, settings and build
context; both are measured by the current harness, with its routes, presets and limits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.matrix.knobs import reader
from bench.matrix.load import load_matrix
from bench.matrix.model import BARE, Matrix, Service, python_label
from bench.matrix.packages import locked
from bench.matrix.settings import allowed, read_env
from bench.plan.cells import Plan
from bench.plan.selection import Selection, with_settings
from bench.plan.variants import CLASS, TAKEN, Variant
from bench.tools.levels import Level

REFS = "refs.json"
"""The file with the two refs, the base first, and the paths in which they differ."""

DEFAULT = f"gunicorn-${CLASS}-flask"
"""The stack to measure if the difference affects every service."""
SCENARIOS = ("json", "delay-20")
"""Instant responses, and 20 ms of waiting."""
LEVELS, TOOLS = (Level("c16", 16),), ("wrk",)
MOST = 3
"""The most stacks of a default selection."""
MINUTES = 4.0
"""The longest that a default selection is measured."""
EVERY = re.compile(r"services/(common/|(debian|alpine)\.Dockerfile$)")
FOLDER = re.compile(r"services/(framework|server)s/([^/]+)/(?!\1\.toml$)")
"""A file of a framework or server, but not the one with its facts, which both matrices have."""
LOCK = re.compile(r"services/locks/([^/]+)/(framework|server|common|package)-(.+)\.txt$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref(Variant):
    """One of the two refs. If `dirty`, it has uncommitted changes on top of `head`; `env` is its .env."""

    commit: str
    head: str
    dirty: bool
    env: Mapping[str, str]

    def facts(self) -> dict[str, Any]:
        """run.json's entry."""
        return {"ref": self.label, "commit": self.commit, "head": self.head, "dirty": self.dirty}


@dataclass(frozen=True, slots=True)
class Touched:
    """Which services the difference affects: `every` one, or those with a changed framework, server or lock."""

    every: bool
    parts: frozenset[tuple[str, str]]
    """(`framework` or `server`, name)."""
    locks: frozenset[tuple[str, str, str]]
    """(label of the Python, `framework`, `server` or `common`, name)."""

    def concerns(self, service: Service) -> bool:
        """Whether a service may differ between the refs."""
        own = {*_parts(service).items(), ("common", service.server.style)}
        return self.every or any(one in self.parts or (python_label(service.python), *one) in self.locks for one in own)

    def concerns_part(self, part: tuple[str, str]) -> bool:
        """Whether a framework or a server may differ between the refs, on any Python."""
        return part in self.parts or any(lock[1:] == part for lock in self.locks)


def _parts(service: Service) -> dict[str, str]:
    return {"framework": service.framework.folder, "server": service.server.name}


@dataclass(frozen=True, slots=True)
class Refs:
    """The base and the head, the paths that differ (`changed`), and the settings of the run."""

    base: Ref
    head: Ref
    changed: tuple[str, ...]
    run: Mapping[str, str]

    def touched(self) -> Touched:
        """Derived from the paths that differ, the entries of both matrices, and the settings that services read."""
        base, head = self.base.matrix, self.head.matrix
        parts = {(found[1], found[2]) for path in self.changed if (found := FOLDER.match(path))}
        parts |= {("framework", f.folder) for n, f in base.frameworks.items() if head.frameworks.get(n, f) != f}
        parts |= {("server", n) for n, server in base.servers.items() if head.servers.get(n, server) != server}
        return Touched(
            every=self.base.own != self.head.own or any(EVERY.match(path) for path in self.changed),
            parts=frozenset(parts),
            locks=frozenset((f[1], f[2], f[3]) for path in self.changed if (f := LOCK.match(path))),
        )

    def default_selection(self, wanted: Selection) -> Selection:
        """`wanted` with stacks that show the difference; UserError if it affects no service."""
        stacks = tuple(self._stacks())
        if not stacks:
            few, both = ", ".join(self.changed[:3]), f"{self.base.label} and {self.head.label}"
            raise UserError(f"nothing to compare: what differs ({few}) affects no service that both {both} have")
        return replace(
            wanted,
            stacks=stacks[:MOST],
            scenarios=wanted.scenarios or SCENARIOS,
            tools=wanted.tools or TOOLS,
            levels=wanted.levels or LEVELS,
        )

    def default_server(self, interface: str) -> str:
        """The server on which a user's own app is compared unless the user names one."""
        return next((one.server.name for one in self._services() if interface in one.server.serves), "*")

    def facts(self, plan: Plan) -> dict[str, Any]:
        """run.json's entry: the refs, the paths that differ, and notes for the report."""
        notes = [*self._run_settings(), *self._unconcerned(plan)]
        return {"base": self.base.facts(), "head": self.head.facts(), "changed": list(self.changed), "notes": notes}

    def _run_settings(self) -> Iterator[str]:
        """A line for each setting that differs in .env although a run can have only one value of it."""
        for name in allowed("settings"):
            if self.base.env.get(name) != self.head.env.get(name) and name not in (CLASS, *TAKEN):
                yield f"{name} differs too, but applies to the whole run: both sides have {self.run[name]!r}"

    def _unconcerned(self, plan: Plan) -> Iterator[str]:
        """A line for each pair that the difference does not affect."""
        touched, services = self.touched(), {service.name: service for service in plan.services}
        for base, head in ((services[name] for name in pair) for pair in plan.pairs):
            if base.stack == head.stack and not base.framework.own and not touched.concerns(base):
                yield f"{base.stack} has the same files on both sides: a difference there is noise"

    def _stacks(self) -> Iterator[str]:
        """A stack for each framework and server that differs, if both refs have it; the quick preset's come first."""
        touched = self.touched()
        if touched.every or self.base.settings[CLASS] != self.head.settings[CLASS]:
            yield DEFAULT
            return
        theirs = set(self.head.matrix.stacks)
        chosen = [s for s in self._services() if s.stack in theirs and touched.concerns(s)]
        seen: set[str] = set()
        for kind in ("framework", "server"):
            for service in chosen:
                name = _parts(service)[kind]
                if touched.concerns_part((kind, name)) and name not in seen:
                    seen.add(name)
                    yield service.stack
        if not seen and chosen:
            yield chosen[0].stack

    def _services(self) -> list[Service]:
        """The base ref's services of the default Python and base image, the most representative first."""
        matrix = self.base.matrix
        quick = [with_settings(stack, self.run) for stack in matrix.presets["quick"].stacks]
        return sorted(matrix.usual, key=lambda s: (s.stack not in quick, s.framework.name not in BARE))


def read_refs(folder: Path, here: Variant, environ: Mapping[str, str], apps: Sequence[Matrix] = ()) -> Refs:
    """The refs that scripts/compare.sh lists in a folder; UserError if a ref's matrix cannot be read.

    `here` is the project with the run's settings. `apps`: if two refs of a user's own app are compared, the current
    matrix with the app of each ref.
    """
    saved = json.loads((folder / REFS).read_text(encoding="utf-8", errors="replace"))
    base, head = (_ref(side, here, environ, apps[n] if apps else None) for n, side in enumerate(saved["sides"]))
    return Refs(base, head, tuple(saved["changed"]), here.settings)


def _ref(side: Mapping[str, Any], here: Variant, environ: Mapping[str, str], app: Matrix | None) -> Ref:
    label, place = side["label"], side["place"]
    context = "" if app else f"{place}/services"
    root = Path(context or "services")
    try:
        matrix = app or load_matrix(root / "matrix.toml")
    except UserError as error:
        words = re.sub(r"; (see|fix|run|compare) .*", "", str(error)).replace(f"{place}/", "")
        raise UserError(f"{label} cannot be measured by this project: {words}") from error
    env = {} if app else read_env(Path(place) / ".env")
    settings = dict(here.settings)
    for key in (key for key in (CLASS, *TAKEN) if key in env and not environ.get(key)):
        pattern, what = allowed("settings")[key]
        if not re.fullmatch(pattern, env[key], re.ASCII):
            raise UserError(f"{key}={env[key]!r} in .env of {label} is not {what}")
        settings[key] = env[key]
    return Ref(
        matrix=matrix,
        settings=settings,
        reachable=here.reachable,
        reads=reader(root),
        pins=locked(root / "locks"),
        label=label,
        name=side["name"],
        mark=side["mark"],
        context=context,
        own={key: settings[key] for key in TAKEN if settings[key] != here.settings[key]},
        commit=side["commit"],
        head=side["head"],
        dirty=side["dirty"],
        env=env,
    )

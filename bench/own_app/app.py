"""A user's own app: its description in a run's folder, and as a framework of the matrix with routes and a preset."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from bench.core.exchange import Exchange
from bench.core.files import write_file
from bench.core.typed import read_typed
from bench.matrix.model import Framework, Load, Matrix, OwnBuild, Route
from bench.own_app.targets import MIX, Target, is_redirect
from bench.tools.levels import Level

FOLDER = "app"
"""The folder of a run for everything about the app; `FILE` in it describes the app."""
FILE = "app.json"
COMPOSE = "services.json"
LOCKS = f"{FOLDER}/locks"
FACTS = (
    *("name", "folder", "app", "interface", "env_file", "before", "apt", "services", "variables", "options"),
    "project",
)
"""What run.json has of an app, besides its targets."""
LEVELS = (Level("c16", 16), Level("share50", share=0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnApp:
    """An app: its `folder` on the host, its `name` in service names, and `app`, its MODULE:CALLABLE.

    `label` tells it from other apps with the same name; `variables` are the names in its environment file.
    """

    name: str
    label: str
    folder: str
    app: str
    interface: str
    targets: tuple[Target, ...]
    pythons: tuple[str, ...]
    variables: tuple[str, ...] = ()
    env_file: str = ""
    before: str = ""
    apt: tuple[str, ...] = ()
    """Debian packages that its requirements are built with, and that it has when it runs."""
    services: tuple[str, ...] = ()
    """The names of the user's own Compose services; `COMPOSE` beside app.json defines them."""
    expect: tuple[Mapping[str, Any], ...] = ()
    options: tuple[str, ...] = ()
    """The options as given, with the host's paths: they repeat the run."""
    project: str = ""
    """This project's folder on the host."""

    def facts(self) -> dict[str, Any]:
        """run.json's entry."""
        # `GET / → 302` if the right response is a redirect.
        requests = [" → ".join(map(str, (one.title, *self.redirects((one,))))) for one in self.targets]
        pairs = zip(self.targets, requests, strict=True)
        targets = [{"scenario": one.name, "request": request, "weight": one.weight} for one, request in pairs]
        return {name: getattr(self, name) for name in FACTS} | {"targets": targets}

    def redirects(self, targets: Collection[Target]) -> tuple[int, ...]:
        """The statuses of redirects that --expect says are right responses to these requests."""
        statuses = {int(expect.get("status", 0)) for target, expect in self.expected if target in targets}
        return tuple(sorted(filter(is_redirect, statuses)))

    @property
    def expected(self) -> tuple[tuple[Target, Mapping[str, Any]], ...]:
        """Its requests, each with what --expect says of the response."""
        return tuple(zip(self.targets, self.expect or ({},) * len(self.targets), strict=True))

    @property
    def scenario(self) -> str:
        """The scenario that is measured unless the command line asks for others."""
        return MIX if len(self.targets) > 1 else self.targets[0].name

    def targets_of(self, scenario: str) -> tuple[Target, ...]:
        """The requests of a scenario."""
        return self.targets if scenario == MIX else tuple(one for one in self.targets if one.name == scenario)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """All targets together, if there are several, and each by itself."""
        return (*((MIX,) if len(self.targets) > 1 else ()), *(target.name for target in self.targets))


def name_of(folder: str, matrix: Matrix) -> str:
    """The name of an app: that of its folder, with a prefix if it is a framework's or server's."""
    slug = re.sub(r"[^a-z0-9]+", "-", Path(folder).name.lower()).strip("-")[:30].strip("-") or "app"
    taken = slug in matrix.frameworks or slug in matrix.servers or slug in matrix.selftests
    return f"app-{slug}" if taken else slug


def with_own_app(matrix: Matrix, app: OwnApp, p99: Level | None = None, lock_suffix: str = "") -> Matrix:
    """The matrix with the app, which is then the default selection.

    `p99`: for each service alone, this search for the highest rate within a limit, too.
    """
    routes = {name: _route(app, name) for name in app.scenarios}
    others = ("*", *(name for name, route in matrix.routes.items() if route.basic))
    framework = Framework(
        app.name,
        (app.interface,),
        lacks=dict.fromkeys(others, "your own app has only its own routes"),
        offers=tuple(routes),
        environment={"APP": app.app, "APP_INTERFACE": app.interface, **dict.fromkeys(app.variables)},
        own=OwnBuild(app.interface, app.label, app.folder, lock_suffix, " ".join(app.apt)),
    )
    preset = matrix.presets["all"]
    load = Load(scenarios=(app.scenario,), tools=("wrk",), levels=LEVELS)
    search = [replace(load, tools=("vegeta",), levels=(p99,), alone=True)] if p99 else []
    own = replace(preset, name=app.name, title=f"{app.app} of {Path(app.folder).name}", loads=(load, *search))
    return matrix.with_own_app(framework, routes, own)


def _route(app: OwnApp, scenario: str) -> Route:
    first, *_ = targets = app.targets_of(scenario)
    redirects = app.redirects(targets)
    exchange = Exchange(method=first.method, path=first.path, targets=len(targets), redirects=redirects)
    return Route(scenario, scenario, exchange, waits=True)


def write_app(folder: Path, app: OwnApp) -> None:
    """Write app.json; bodies are base64, because they may be binary."""
    value = {"schema": 1} | msgspec.to_builtins(app)
    write_file(folder / FILE, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def read_app(folder: Path) -> OwnApp:
    """The app that app.json describes; UserError if the file is missing or invalid."""
    return read_typed(OwnApp, folder / FILE, "an app")

"""From the options of the command line to the description of an app, with everything checked that can be without it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.errors import UserError, unknown
from bench.matrix.model import Matrix
from bench.own_app.app import OwnApp, name_of
from bench.own_app.environment import variables
from bench.own_app.interface import INTERFACES, find_interface, module_file
from bench.own_app.targets import DEFAULT, Target, read_targets

_APP = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?)\Z", re.ASCII)
_LISTED = f"{', '.join(INTERFACES[:-1])} or {INTERFACES[-1]}"
RESERVED = ("common", "server")
"""Modules of the benchmark's own in every image."""
EXPECT_KEYS = ("status", "headers", "contains", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options: `folder` and `env_file` as the host has them, the paths as they are here (None: not given)."""

    folder: str
    app: str
    source: Path
    interface: str | None = None
    targets: Path | None = None
    targets_name: str = ""
    expect: Path | None = None
    variables: Path | None = None
    env_file: str = ""
    before: str = ""
    services: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()


def describe(given: Given, matrix: Matrix) -> tuple[OwnApp, str]:
    """The app, and by what its interface was found (empty if it was given); UserError for what is wrong."""
    found = _APP.match(given.app)
    if not found:
        raise UserError(f"--app: '{given.app}' is not MODULE:CALLABLE, such as main:app, or shop.main:create_app()")
    module, name = found[1], found[2]
    for taken in RESERVED:
        if module_file(given.source, taken):
            raise UserError(f"{given.folder} has a module '{taken}', a name that the benchmark's images use: rename it")
    if module_file(given.source, module) is None:
        raise UserError(f"{given.folder} has no module '{module}'; it has: {_modules(given.source)}")
    by = ""
    if given.interface is None:
        recognised = find_interface(given.source, module, name)
        if recognised is None:
            raise UserError(f"the source of {given.app} does not tell what it speaks: give --interface {_LISTED}")
        interface, by = recognised.interface, recognised.by
    elif given.interface in INTERFACES:
        interface = given.interface
    else:
        raise unknown("interface", given.interface, INTERFACES)
    targets = read_targets(given.targets, given.targets_name) if given.targets else (DEFAULT,)
    for target in targets:
        if any(route.match(target.name) for route in matrix.routes.values()):
            raise UserError(
                f"{given.targets_name}: the name '{target.name}' is taken by a route of the contract: give another"
            )
    pythons = matrix.select(given.pythons or (matrix.default_python,), matrix.pythons, "Python")
    label = hashlib.sha256(f"{given.folder}\0{given.app}".encode()).hexdigest()[:8]
    app = OwnApp(
        name=name_of(given.folder, matrix),
        label=label,
        folder=given.folder,
        app=given.app,
        interface=interface,
        targets=targets,
        pythons=tuple(pythons),
        variables=variables(given.variables, given.env_file) if given.variables else (),
        env_file=given.env_file,
        before=given.before,
        services=given.services,
        expect=read_expect(given.expect, targets) if given.expect else (),
    )
    return app, by


def _modules(folder: Path) -> str:
    names = [
        p.stem if p.suffix == ".py" else p.parent.name for p in (*folder.glob("*.py"), *folder.glob("*/__init__.py"))
    ]
    return ", ".join(sorted(names)[:15]) or "none"


def read_expect(path: Path, targets: Sequence[Target]) -> tuple[Mapping[str, Any], ...]:
    """--expect: by target (`GET /`, or its name) status, headers, contains and json; in the order of targets."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"--expect: {path.name} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
        raise UserError(f'--expect: {path.name} is not an object such as {{"GET /": {{"contains": ["hello"]}}}}')
    by_name = {key: target for target in targets for key in (target.title, target.name)}
    for key, entry in value.items():
        if key not in by_name:
            raise unknown("target", key, [target.title for target in targets])
        for word in entry:
            if word not in EXPECT_KEYS:
                raise unknown("expectation", word, EXPECT_KEYS)
    return tuple(next((e for key, e in value.items() if by_name[key] is target), {}) for target in targets)

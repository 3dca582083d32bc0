"""Makes the description of an app from the command line's options, and checks all that it can without running the app.

From its environment file only the names are read: no file of a run contains the values.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.errors import UserError, unknown
from bench.core.formats import listed, printable
from bench.core.typed import read_as
from bench.matrix.model import Matrix, Server, select
from bench.matrix.settings import allowed
from bench.own_app.app import OwnApp, name_of
from bench.own_app.interface import INTERFACES, find_interface, module_file, syntax_fault
from bench.own_app.metadata import check_python
from bench.own_app.targets import DEFAULT, Target, read_targets

_APP = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?)\Z", re.ASCII)
_LISTED = f"{', '.join(INTERFACES[:-1])} or {INTERFACES[-1]}"


EXPECT_KEYS: Mapping[str, tuple[Any, str]] = {
    "status": (int, "a number"),
    "headers": (dict[str, str], "an object of texts"),
    "contains": (list[str], "a list of texts"),
    "json": (Any, "JSON"),
}
"""What a value of --expect may be, as a type and in words."""
OURS = (
    *("APP", "APP_INTERFACE", "PORT", "WORKERS", "BACKLOG", "THREADS", "KEEPALIVE", "GRACEFUL", "TIMEOUT"),
    *("MAX_REQUESTS", "PATH", "PYTHONPATH", "HOME", "FRAMEWORK", "SERVER"),
)
"""Variables that the harness and the server scripts set, besides all settings."""
DOCKER = ("COMPOSE_", "DOCKER_", "BUILDKIT_", "BUILDX_")
"""Prefixes of variables that Docker's programs on the host read."""
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options of the command line; `folder` and `env_file` are paths on the host, every `Path` is local.

    `imported`: what services/own/interface.py printed of the app, if it was imported to find its interface.
    """

    folder: str
    app: str
    source: Path
    interface: str | None = None
    imported: str = ""
    targets: Path | None = None
    targets_name: str = ""
    expect: Path | None = None
    variables: Path | None = None
    env_file: str = ""
    before: str = ""
    apt: str = ""
    services: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    installed: bool = False
    """Whether packages of the folder are installed, which may have modules that the folder does not show."""


def describe(given: Given, matrix: Matrix) -> tuple[OwnApp, str]:
    """The app, and what gave away its interface (empty if the option gave it); UserError if an option is wrong.

    The interface is empty if the source does not show it: the app has to be imported.
    """
    if not (match := _APP.match(given.app)):
        raise UserError(f"--app: '{given.app}' is not MODULE:CALLABLE, such as main:app, or shop.main:create_app()")
    module, name = match[1], match[2]
    if module_file(given.source, module) is None and not given.installed:
        raise UserError(f"{given.folder} has no module '{module}'; it has: {_modules(given.source)}")
    pythons = select(given.pythons or (matrix.default_python,), matrix.pythons, "Python")
    check_python(given.source, pythons, matrix.pythons)
    if fault := next(filter(None, (syntax_fault(given.source, module, python) for python in pythons)), ""):
        raise UserError(f"{fault}: mend it, or give --python with the Python that it is written for")
    interface, by = _interface(given, module, name)
    targets = read_targets(given.targets, given.targets_name) if given.targets else (DEFAULT,)
    for target in targets:
        if any(route.exchange_of(target.name) for route in matrix.routes.values()):
            taken = f"the name '{target.name}' is taken by a route of the contract: choose another"
            raise UserError(f"{given.targets_name}: {taken}")
    hosts = [one for one in matrix.servers.values() if interface in one.serves and not one.variant_of]
    label = hashlib.sha256(f"{given.folder}\0{given.app}".encode()).hexdigest()[:8]
    app = OwnApp(
        name=name_of(given.folder, matrix),
        label=label,
        folder=given.folder,
        app=given.app,
        interface=interface,
        targets=targets,
        pythons=tuple(pythons),
        variables=variables(given.variables, given.env_file, hosts) if given.variables else (),
        env_file=given.env_file,
        before=given.before,
        apt=debian_packages(given.apt),
        services=given.services,
        expect=read_expect(given.expect, targets) if given.expect else (),
    )
    return app, by


def debian_packages(names: str) -> tuple[str, ...]:
    """The Debian packages in --apt; UserError for what is no name of one."""
    packages = [name for name in re.split(r"[,\s]+", names) if name]
    for name in packages:
        # apt-get takes NAME- as a package to remove.
        if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]*[a-z0-9+.]", name):
            raise UserError(f"--apt: '{name}' is not the name of a Debian package, such as libpq-dev")
    if names and not packages:
        raise UserError("--apt names no Debian package, such as libpq-dev")
    return tuple(dict.fromkeys(packages))


def _interface(given: Given, module: str, name: str) -> tuple[str, str]:
    """The app's interface, and what gave it away; both empty if nothing does."""
    if given.interface is not None:
        if given.interface not in INTERFACES:
            raise unknown("interface", given.interface, INTERFACES)
        return given.interface, ""
    if given.imported:
        interface, _, kind = given.imported.partition(" ")
        if interface not in INTERFACES:
            called = f"give the app's name, or {module}:NAME() for a function that makes it"
            raise UserError(f"{given.app} is {printable(kind)}, no app: {called}; or give --interface {_LISTED}")
        return interface, f"imported: {printable(kind)}"
    recognised = find_interface(given.source, module, name)
    return (recognised.interface, recognised.by) if recognised else ("", "")


def _modules(folder: Path) -> str:
    names = [*(p.stem for p in folder.glob("*.py")), *(p.parent.name for p in folder.glob("*/__init__.py"))]
    return ", ".join(sorted(names)[:15]) or "none"


def read_expect(path: Path, targets: Sequence[Target]) -> tuple[Mapping[str, Any], ...]:
    """The --expect file in the order of targets: status, headers, contains and json by target (`GET /` or a name)."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"--expect: {path.name} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
        raise UserError(f'--expect: {path.name} is not an object such as {{"GET /": {{"contains": ["hello"]}}}}')
    known = {key for target in targets for key in (target.title, target.name)}
    for key, entry in value.items():
        if key not in known:
            raise unknown("target", key, [target.title for target in targets])
        for word, expected in entry.items():
            if word not in EXPECT_KEYS:
                raise unknown("expectation", word, EXPECT_KEYS)
            kind, what = EXPECT_KEYS[word]
            try:
                read_as(kind, expected)
            except ValueError:
                raise UserError(f"--expect: {path.name}, {key}: {word} is not {what}") from None
    keys = [(target.name, target.title) for target in targets]
    return tuple(next((entry for key, entry in value.items() if key in names), {}) for names in keys)


def variables(path: Path, shown: str, hosts: Sequence[Server]) -> tuple[str, ...]:
    """The names in an environment file; UserError for an invalid line, and for all names that an app cannot have."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {shown}: {error}") from error
    names: dict[str, None] = {}
    refused: dict[str, dict[str, None]] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not (match := _LINE.match(text)):
            raise UserError(f"{shown}, line {number} is not NAME=VALUE")
        names[match[1]] = None
        if cause := _taken(match[1], hosts):
            refused.setdefault(cause, {})[f"{match[1]} (line {number})"] = None
    if refused:
        removed = "; ".join(f"{', '.join(lines)}: {cause}" for cause, lines in refused.items())
        raise UserError(f"{shown}: remove {removed}")
    return tuple(names)


def _taken(name: str, hosts: Sequence[Server]) -> str:
    """Who else reads or sets this variable, so that the app cannot have it; empty if nobody."""
    if name.startswith(DOCKER):
        return "may be read by Docker on this machine"
    if name in OURS or name in allowed("settings") or name.startswith("BENCH_"):
        return "used by the benchmark itself"
    readers = [server.name for server in hosts if any(fnmatch.fnmatchcase(name, one) for one in server.reads)]
    if not readers or len(readers) == len(hosts):
        return ""
    return f"of the servers, read by {listed(readers, 4, 3)} alone (--vary or --flags show what it does)"

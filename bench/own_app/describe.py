"""Makes the description of an app from the command line's options, and checks all that it can without running the app.

Its requirements become one file for the resolver. From its environment file only the names are read: no file of a run
contains the values.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench.core.errors import UserError, unknown
from bench.core.files import read_below
from bench.core.formats import listed
from bench.matrix.model import Matrix, Server, select
from bench.matrix.settings import SETTINGS
from bench.own_app.app import OwnApp, name_of
from bench.own_app.interface import INTERFACES, find_interface, module_file, syntax_fault
from bench.own_app.metadata import LOCKS, check_python
from bench.own_app.targets import DEFAULT, Target, read_targets

_APP = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?)\Z", re.ASCII)
_LISTED = f"{', '.join(INTERFACES[:-1])} or {INTERFACES[-1]}"
RESERVED = ("common", "server")
"""Modules of the benchmark in every image."""


class Expected(NamedTuple):
    """What a value of --expect may be."""

    what: str
    fits: Callable[[Any], bool]


EXPECT_KEYS: Mapping[str, Expected] = {
    "status": Expected("a number", lambda value: type(value) is int),
    "headers": Expected(
        "an object of texts",
        lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values()),
    ),
    "contains": Expected(
        "a list of texts", lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value)
    ),
    "json": Expected("JSON", lambda value: True),
}

OURS = (
    *("APP", "APP_INTERFACE", "PORT", "WORKERS", "BACKLOG", "THREADS", "KEEPALIVE", "GRACEFUL", "TIMEOUT"),
    *("MAX_REQUESTS", "PATH", "PYTHONPATH", "HOME", "FRAMEWORK", "SERVER"),
)
"""Variables that the harness and the server scripts set, besides all settings."""
PREFIXES = ("COMPOSE_", "DOCKER_", "BENCH_", "BUILDKIT_", "BUILDX_")
"""Prefixes of variables that programs on the host read."""
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=")

REQUIREMENTS = ("requirements.txt", "pyproject.toml")
"""Files to look for in the app's folder, in this order."""
CONSTRAINTS = ".constraints.txt"
"""Beside the requirements, hidden from the resolver's list of them."""
_INCLUDE = re.compile(r"(-r|--requirement|-c|--constraint)[ =]?\s*(\S+)\Z")
_INDEX = re.compile(r"(-i|--index-url|--extra-index-url|-f|--find-links)\b")
_LOCAL = re.compile(r"(-e|--editable)\b|(\.|\.\.|/|file:)")
DEEPEST = 5
ONE_INDEX = "images are built from one package index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options of the command line; `folder` and `env_file` are paths on the host, every `Path` is local."""

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
    """The app, and what gave away its interface (empty if the option gave it); UserError if an option is wrong."""
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
            why = syntax_fault(given.source, module) or f"the source of {given.app} does not show its interface"
            raise UserError(f"{why}: give --interface {_LISTED}")
        interface, by = recognised.interface, recognised.by
    elif given.interface in INTERFACES:
        interface = given.interface
    else:
        raise unknown("interface", given.interface, INTERFACES)
    targets = read_targets(given.targets, given.targets_name) if given.targets else (DEFAULT,)
    for target in targets:
        if any(route.match(target.name) for route in matrix.routes.values()):
            raise UserError(
                f"{given.targets_name}: the name '{target.name}' is taken by a route of the contract: choose another"
            )
    hosts = [server for server in matrix.servers.values() if interface in server.serves]
    pythons = select(given.pythons or (matrix.default_python,), matrix.pythons, "Python")
    check_python(given.source, pythons, matrix.pythons)
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
            if not EXPECT_KEYS[word].fits(expected):
                raise UserError(f"--expect: {path.name}, {key}: {word} is not {EXPECT_KEYS[word].what}")
    return tuple(
        next((entry for key, entry in value.items() if key in (target.name, target.title)), {}) for target in targets
    )


def variables(path: Path, shown: str, hosts: Sequence[Server]) -> tuple[str, ...]:
    """The names in an environment file; UserError for an invalid line, a name that the benchmark sets itself, or one
    that only some of the servers that can host the app read themselves.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {shown}: {error}") from error
    names: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        found = _LINE.match(text)
        if not found:
            raise UserError(f"{shown}, line {number} is not NAME=VALUE")
        if found[1] in OURS or found[1] in SETTINGS or found[1].startswith(PREFIXES):
            raise UserError(
                f"{shown}, line {number}: {found[1]} is set by the benchmark itself (see .env): remove it there"
            )
        own = [server.name for server in hosts if any(fnmatch.fnmatchcase(found[1], one) for one in server.reads)]
        if own and len(own) < len(hosts):
            raise UserError(
                f"{shown}, line {number}: {found[1]} is read by {listed(own, 4, 3)} itself, and by no other server: "
                f"remove it there (--vary {found[1]}=... shows what it does)"
            )
        names[found[1]] = None
    return tuple(names)


def requirements_of(folder: Path, given: Path | None, shown: str) -> dict[str, str]:
    """The files for the resolver, by name: the requirements, empty if the app has none, and constraints."""
    if given is None:
        given = next((folder / name for name in REQUIREMENTS if (folder / name).is_file()), None)
        if given is None:
            return {"requirements.in": ""}
        shown = given.name
    if given.suffix == ".toml":
        text = _read(given.parent, given.name, shown)
        if not re.search(r"^\s*\[project[.\]]", text, re.MULTILINE):
            export = LOCKS["poetry.lock"] if re.search(r"^\s*\[tool\.poetry\b", text, re.MULTILINE) else ""
            how = f"{export}, then --requirements FILE" if export else "give --requirements FILE"
            raise UserError(f"{shown} has no [project] with dependencies: {how}")
        if re.search(r"^\s*\[tool\.uv\.sources\b", text, re.MULTILINE):
            raise UserError(f"{shown}: [tool.uv.sources] is not supported: {ONE_INDEX}")
        return {"pyproject.toml": text}
    constraints = list[str]()
    lines = [*_lines(given.parent, given.name, shown, constraints)]
    if not constraints:
        return {"requirements.in": _text_of(lines)}
    return {"requirements.in": _text_of([f"-c {CONSTRAINTS}", *lines]), CONSTRAINTS: _text_of(constraints)}


def _text_of(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _lines(folder: Path, name: str, shown: str, constraints: list[str], depth: int = 0) -> Iterator[str]:
    """The requirements of a file and of those that it includes; constraints are added to `constraints`."""
    if depth > DEEPEST:
        raise UserError(f"{shown} includes itself")
    for line in _read(folder, name, shown).splitlines():
        # The lock adds hashes of its own.
        text = re.sub(r"\s*--hash[= ]\S+", "", line.split(" #")[0].strip().removesuffix("\\")).strip()
        if not text or text.startswith("#"):
            continue
        if include := _INCLUDE.match(text):
            own = _lines(folder, os.path.join(os.path.dirname(name), include[2]), include[2], constraints, depth + 1)
            if include[1] in ("-c", "--constraint"):
                constraints += own
            else:
                yield from own
        elif _LOCAL.match(text):
            raise UserError(
                f"{shown}: '{text}' is a local package, which cannot be locked: "
                "leave it out if it is the app itself, whose folder is on the path"
            )
        elif _INDEX.match(text):
            raise UserError(f"{shown}: '{text.split()[0]}' is not supported: {ONE_INDEX}")
        else:
            yield text


def _read(folder: Path, name: str, shown: str) -> str:
    try:
        return read_below(folder, name).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the requirements in {shown}: {error}") from error

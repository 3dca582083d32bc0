"""Reads and checks services/matrix.toml, whose keys are the fields of the types in model.py.

An error names the place of the wrong key or value. Every text must be a single printable line, because it becomes a
container's name, a line of a Compose file or a cell of a table.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from bench.core.errors import UserError
from bench.core.gone import GONE
from bench.core.typed import typed
from bench.matrix.model import (
    NAME,
    Base,
    Count,
    Framework,
    Matrix,
    Notes,
    Packages,
    Preset,
    Python,
    Route,
    Seconds,
    Server,
    ServerDefaults,
    Skip,
    legal_services,
    python_image,
)

T = TypeVar("T")
MATRIX = Path("services/matrix.toml")
LOCAL = "matrix.local.toml"
"""A file next to matrix.toml, not in git, with values that are added to it or replace its values."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The values of presets that do not set them; times in seconds."""

    python: str
    base: str
    rounds: Count
    duration: Seconds
    warmup: Seconds
    timeout: Seconds


@dataclass(frozen=True, slots=True)
class Source:
    """How a package without a musl wheel is built; only for readers of the file."""

    compiler: bool
    what: str


@dataclass(frozen=True, slots=True)
class File:
    """The whole file. Tables of type `Any` are typed one by one, so that errors name the entry."""

    schema: int
    defaults: Defaults
    bases: Mapping[str, Any]
    pythons: Mapping[str, Any]
    servers: Mapping[str, Any]
    frameworks: Mapping[str, Any]
    routes: Mapping[str, Any]
    presets: Mapping[str, Any]
    selftests: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    server_defaults: ServerDefaults = field(default_factory=ServerDefaults)
    sources: Mapping[str, Source] = field(default_factory=dict)
    skip: tuple[Skip, ...] = ()


def load_matrix(path: Path = MATRIX) -> Matrix:
    """The matrix in the file, with `LOCAL` if it exists; UserError with the file and what is wrong in it."""
    local = path.with_name(LOCAL)
    data = _read(path)
    if local.exists():
        data, path = merged(data, _read(local)), local
    try:
        return parse_matrix(data)
    except ValueError as error:
        raise UserError(f"{path} is not a valid matrix: {error}; see `git diff {path}`") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; run from the project's folder") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid TOML: {error}; fix that line, or `git checkout {path}`") from error


def merged(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both, merged table by table; of any other value, `other`'s counts."""
    found = dict(base)
    for key, value in other.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merged(found[key], value) if both else value
    return found


def parse_matrix(data: Mapping[str, Any]) -> Matrix:
    """The matrix of parsed TOML; ValueError if a key is missing or a value is wrong."""
    if data.get("schema", 1) != 1:
        raise ValueError(f"schema is {data['schema']}, this version reads 1")
    _check_texts(data)
    file = typed(File, data)
    routes = {n: _with_given(Route, v, f"routes.{n}", name=n, targets=0) for n, v in file.routes.items()}
    matrix = Matrix(
        bases={n: typed(Base, v, f"bases.{n}") for n, v in file.bases.items()},
        pythons={n: typed(Python, v, f"pythons.{n}") for n, v in file.pythons.items()},
        servers={n: _server(n, v, f"servers.{n}", file) for n, v in file.servers.items()},
        frameworks={
            n: _framework(n, v, f"frameworks.{n}", selftest=False, app=None, environment={})
            for n, v in file.frameworks.items()
        },
        routes=routes,
        presets={n: _preset(n, v, f"presets.{n}", file.defaults) for n, v in file.presets.items()},
        skips=file.skip,
        default_python=file.defaults.python,
        default_base=file.defaults.base,
        selftests={n: _framework(n, v, f"selftests.{n}", selftest=True) for n, v in file.selftests.items()},
    )
    for name in itertools.chain(matrix.servers, matrix.frameworks, matrix.selftests, routes, matrix.presets):
        if not NAME.match(name):
            raise ValueError(f"name '{name}' may have only lower-case letters, digits and '-'")
    for name in file.notes.keys() - matrix.servers.keys():
        raise ValueError(f"notes.{name}: there is no server '{name}'")
    _check_defaults(file.server_defaults, matrix.servers)
    for python in matrix.pythons:
        python_image(python)
    for framework in (*matrix.frameworks.values(), *matrix.selftests.values()):
        _check_routes(framework, routes)
    return replace(matrix, services=tuple(legal_services(matrix, matrix.pythons, matrix.bases)))


def _check_routes(framework: Framework, routes: Mapping[str, Route]) -> None:
    for route in framework.lacks:
        if route != "*" and route not in routes:
            raise ValueError(f"framework {framework.name} lacks '{route}', which is not a route")
    for route in framework.offers:
        if route not in routes or routes[route].selftest:
            raise ValueError(f"framework {framework.name} offers '{route}', which is not a route")
        if route in framework.lacks or "*" not in framework.lacks:
            raise ValueError(f"framework {framework.name} offers '{route}': offers is for exceptions to lacks = '*'")


def _check_defaults(defaults: ServerDefaults, servers: Iterable[str]) -> None:
    used = {id(default) for name in servers for default in defaults.of(name).values()}
    for kind in (one.name for one in fields(defaults)):
        for number, default in enumerate(getattr(defaults, kind)):
            if id(default) not in used:
                raise ValueError(f"server_defaults.{kind}[{number}] applies to no server")


def _server(name: str, value: Any, place: str, file: File) -> Server:
    table = dict(_table(value, place))
    packages = {base: typed(Packages, table.pop(base), f"{place}.{base}") for base in file.bases if base in table}
    notes = typed(Notes, file.notes[name], f"notes.{name}") if name in file.notes else None
    given = {"name": name, "packages": packages, "notes": notes, "defaults": file.server_defaults.of(name)}
    server = _with_given(Server, table, place, **given)
    if server.style not in ("sync", "async"):
        raise ValueError(f"server {name}: style '{server.style}' must be sync or async")
    return server


def _framework(name: str, value: Any, place: str, **more: Any) -> Framework:
    """A framework; in the file, its `interface` is a text or a list."""
    table = dict(_table(value, place))
    if "interface" not in table:
        raise ValueError(f"{place}: missing key 'interface'")
    needs = table.pop("interface")
    interfaces = [needs] if isinstance(needs, str) else needs
    return _with_given(Framework, table, place, name=name, interfaces=interfaces, own=None, **more)


def _preset(name: str, value: Any, place: str, defaults: Defaults) -> Preset:
    if "tables" in _table(value, place):
        raise ValueError(f"{place}: {GONE['tables of a preset']}")
    usual = {key: getattr(defaults, key) for key in ("rounds", "duration", "warmup", "timeout")}
    usual |= {"pythons": [defaults.python], "bases": [defaults.base]}
    preset = _with_given(Preset, usual | dict(_table(value, place)), place, name=name)
    of_loads = dict.fromkeys(stack for load in preset.loads for stack in load.stacks)
    return replace(preset, stacks=preset.stacks or tuple(of_loads))


def _check_texts(value: Any, place: str = "") -> None:
    """Raise ValueError unless every text and every key is a printable line."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_text(key, f"a name in {place or 'the file'}")
            _check_texts(item, f"{place}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check_texts(item, f"{place}[{number}]")
    elif isinstance(value, str):
        _check_text(value, place)


def _check_text(text: str, place: str) -> None:
    if not text or not text.isprintable():
        raise ValueError(f"{place} is not one line of text")


def _with_given(kind: type[T], value: Any, place: str, **given: Any) -> T:
    """A table as `kind`, whose fields in `given` are not keys of the file."""
    for name in given.keys() & _table(value, place):
        raise ValueError(f"{place}: unknown key {name!r}")
    return typed(kind, {**value, **given}, place)


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError(f"{place} is not a table")

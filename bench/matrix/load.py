"""Reads and checks services/matrix.toml, whose keys are the fields of the types in model.py.

An error names the place of the wrong key or value. Every text must be a single printable line, because it becomes a
container's name, a line of a Compose file or a cell of a table.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from bench.core.errors import UserError
from bench.core.gone import GONE
from bench.matrix.model import (
    NAME,
    Base,
    Framework,
    Matrix,
    Notes,
    Packages,
    Preset,
    Python,
    Route,
    Server,
    ServerDefaults,
    Skip,
    legal_services,
    python_image,
)

MATRIX = Path("services/matrix.toml")
LOCAL = "matrix.local.toml"
"""A file next to matrix.toml, not in git, with values that are added to it or replace its values."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The values of presets that do not set them; times in seconds."""

    python: str
    base: str
    rounds: int
    duration: float
    warmup: float
    timeout: float


@dataclass(frozen=True, slots=True)
class Source:
    """How a package without a musl wheel is built; only for readers of the file."""

    compiler: bool
    what: str


@dataclass(frozen=True, slots=True)
class File:
    """The whole file. Tables of type `Any` are parsed later, because they need other tables."""

    schema: int
    defaults: Defaults
    bases: Mapping[str, Base]
    pythons: Mapping[str, Python]
    servers: Mapping[str, Any]
    frameworks: Mapping[str, Any]
    routes: Mapping[str, Any]
    presets: Mapping[str, Any]
    selftests: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Notes] = field(default_factory=dict)
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
    file: File = typed(File, data, "the file")
    routes = {n: typed(Route, v, f"routes.{n}", name=n, targets=0) for n, v in file.routes.items()}
    matrix = Matrix(
        bases=file.bases,
        pythons=file.pythons,
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
        for number, default in enumerate(getattr(defaults, kind), 1):
            if id(default) not in used:
                raise ValueError(f"server_defaults.{kind}, entry {number}, applies to no server")


def _server(name: str, value: Any, place: str, file: File) -> Server:
    table = _table(value, place)
    packages = {base: typed(Packages, table[base], f"{place}.{base}") for base in file.bases if base in table}
    rest = {key: one for key, one in table.items() if key not in packages}
    given = {"notes": file.notes.get(name), "defaults": file.server_defaults.of(name)}
    server: Server = typed(Server, rest, place, name=name, packages=packages, **given)
    if server.style not in ("sync", "async"):
        raise ValueError(f"server {name}: style '{server.style}' must be sync or async")
    return server


def _framework(name: str, value: Any, place: str, **more: Any) -> Framework:
    """A framework; in the file, its `interface` is a text or a list."""
    table = dict(_table(value, place))
    if "interface" not in table:
        raise ValueError(f"'interface' is missing in {place}")
    needs = table.pop("interface")
    interfaces = typed(tuple[str, ...], [needs] if isinstance(needs, str) else needs, f"{place}.interface")
    framework: Framework = typed(Framework, table, place, name=name, interfaces=interfaces, own=None, **more)
    return framework


def _preset(name: str, value: Any, place: str, defaults: Defaults) -> Preset:
    if "tables" in _table(value, place):
        raise ValueError(f"{place}: {GONE['tables of a preset']}")
    usual = {key: getattr(defaults, key) for key in ("rounds", "duration", "warmup", "timeout")}
    usual |= {"pythons": [defaults.python], "bases": [defaults.base]}
    preset: Preset = typed(Preset, usual | dict(_table(value, place)), place, name=name)
    of_loads = dict.fromkeys(stack for load in preset.loads for stack in load.stacks)
    return replace(preset, stacks=preset.stacks or tuple(of_loads))


_PLAIN: Mapping[Any, tuple[Callable[[Any], bool], str]] = {
    str: (lambda value: isinstance(value, str) and value != "" and value.isprintable(), "one line of text"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    int: (lambda value: type(value) is int and 0 < value < 10_000, "a whole number above 0"),
    float: (lambda value: type(value) in (int, float) and 0 <= value < 1e6, "a number of seconds"),
}


def typed(kind: Any, value: Any, place: str, **given: Any) -> Any:
    """`value` as type `kind`: a dataclass, tuple, mapping or plain type, or one of them or None.

    `given`: fields of the dataclass that are not keys of the file. ValueError names the place of a wrong value.
    """
    arguments = get_args(kind)
    if is_dataclass(kind):
        return _dataclass(kind, value, place, given)
    if get_origin(kind) is UnionType:
        return typed(arguments[0], value, place)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{place} is not a list")
        return tuple(typed(arguments[0], item, f"{place}, entry {number},") for number, item in enumerate(value, 1))
    if get_origin(kind) is Mapping:
        for name in _table(value, place):
            typed(str, name, f"a name in {place}")
        return {name: typed(arguments[1], item, f"{place}.{name}") for name, item in value.items()}
    if kind in _PLAIN:
        fits, what = _PLAIN[kind]
        if not fits(value):
            raise ValueError(f"{place} is not {what}")
        return kind(value)
    return value


def _dataclass(kind: Any, value: Any, place: str, given: Mapping[str, Any]) -> Any:
    kinds, required = _fields(kind)
    known = kinds.keys() - given.keys()
    for name in required:
        if name in known and name not in _table(value, place):
            raise ValueError(f"'{name}' is missing in {place}")
    for name in _table(value, place):
        if name not in known:
            raise ValueError(f"{place} has an unknown key {name!r}")
    top = "" if kind is File else f"{place}."
    return kind(**given, **{name: typed(kinds[name], item, f"{top}{name}") for name, item in value.items()})


@cache
def _fields(kind: Any) -> tuple[Mapping[str, Any], list[str]]:
    """The types of a dataclass's fields by name, and the names of those without a default."""
    required = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
    return get_type_hints(kind), required


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError(f"{place} is not a table")

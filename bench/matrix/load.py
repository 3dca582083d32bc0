"""Reads and checks services/matrix.toml and the files of servers, frameworks, presets and self-tests.

Their keys are the fields of the types in model.py. An error names the file, and the wrong key or value. Every text must
be a single printable line, because it becomes a container's name, a line of a Compose file or a cell of a table.
"""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from bench.core.errors import UserError
from bench.core.exchange import Exchange
from bench.core.gone import gone
from bench.core.typed import typed
from bench.matrix.model import (
    NAME,
    Base,
    Count,
    Default,
    Framework,
    Matrix,
    Packages,
    Preset,
    Python,
    Route,
    Seconds,
    Server,
    Skip,
    legal_services,
    python_image,
)
from bench.tools.levels import Level

T = TypeVar("T")
MATRIX = Path("services/matrix.toml")
OF_EXCHANGE = {field.name for field in fields(Exchange)} - {"targets", "redirects", "wait"}
"""What a route says of its exchange. The rest is that of an app's requests, or the route's own."""
ENTRIES = ("servers/*/server.toml", "frameworks/*/framework.toml", "presets/*.toml")
"""Files next to matrix.toml with one entry each: TABLE/NAME/... or TABLE/NAME.toml."""
SELFTESTS = "selftests.toml"
LOCAL = "matrix.local.toml"
"""A file next to matrix.toml, not in git, with values that are added to those of all files or replace them."""


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
class Order:
    """The names that come first, in this order."""

    servers: tuple[str, ...] = ()
    frameworks: tuple[str, ...] = ()
    presets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedDefault:
    """A default of several servers (globs) in the matrix.toml of a ref from before server.toml."""

    servers: tuple[str, ...]
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of all files. Those of type `Any` are typed one by one, so that errors name the entry."""

    schema: int
    defaults: Defaults
    bases: Mapping[str, Any]
    pythons: Mapping[str, Any]
    servers: Mapping[str, Any]
    frameworks: Mapping[str, Any]
    routes: Mapping[str, Any]
    presets: Mapping[str, Any]
    selftests: Mapping[str, Any] = field(default_factory=dict)
    order: Order = field(default_factory=Order)
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Only in refs from before server.toml, as are the next ones."""
    server_defaults: Mapping[str, tuple[SharedDefault, ...]] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    skip: tuple[Skip, ...] = ()


def load_matrix(path: Path = MATRIX) -> Matrix:
    """The matrix in this file and those next to it; UserError with the file and what is wrong in it."""
    data, files = read_tables(path)
    try:
        return parse_matrix(data)
    except ValueError as error:
        place = max((place for place in files if place in str(error)), key=len)
        raise UserError(f"{files[place]} is not a valid matrix: {error}; see `git diff {files[place]}`") from error


def contract_routes(path: Path = MATRIX) -> dict[str, Route]:
    """The routes of the contract, without those of self-tests and of apps."""
    return {name: _route(name, value) for name, value in _read(path)["routes"].items()}


def read_tables(path: Path) -> tuple[dict[str, Any], dict[str, Path]]:
    """The tables of all files as one mapping, and which file has each place (`servers.bjoern`; empty: all others)."""
    data: dict[str, Any] = {}
    files: dict[str, Path] = {}
    for file, tables in _files(path):
        data = merged(data, tables)
        entries = ((table, entry) for table, entry in tables.items() if isinstance(entry, dict))
        files |= {f"{table}.{name}": file for table, entry in entries for name in entry}
        files |= {"": file} if file.name in (path.name, LOCAL) else {}
    return data, files


def _files(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each file with its tables; values of later ones replace those of earlier ones."""
    yield path, _read(path)
    for pattern in ENTRIES:
        for file in sorted(path.parent.glob(pattern)):
            table, name, *_ = file.relative_to(path.parent).parts
            yield file, {table: {name.removesuffix(".toml"): _read(file)}}
    for file in (path.with_name(SELFTESTS), path.with_name(LOCAL)):
        if file.exists():
            yield file, _read(file)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; run from the project's folder") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid TOML: {error}; fix that line, or `git checkout {path}`") from error


def merged(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both, merged table by table; of any other value, `other`'s counts."""
    combined = dict(base)
    for key, value in other.items():
        both = isinstance(value, dict) and isinstance(combined.get(key), dict)
        combined[key] = merged(combined[key], value) if both else value
    return combined


def parse_matrix(data: Mapping[str, Any]) -> Matrix:
    """The matrix of parsed TOML; ValueError if a key is missing or a value is wrong."""
    if data.get("schema", 1) != 1:
        raise ValueError(f"schema is {data['schema']}, this version reads 1")
    _check_texts(data)
    tables = typed(Tables, data)
    presets = _ordered(tables.presets, tables.order.presets)
    routes = {n: _route(n, v) for n, v in tables.routes.items()}
    matrix = Matrix(
        bases={n: typed(Base, v, f"bases.{n}") for n, v in tables.bases.items()},
        pythons={n: typed(Python, v, f"pythons.{n}") for n, v in tables.pythons.items()},
        servers={n: _server(n, v, tables) for n, v in _ordered(tables.servers, tables.order.servers)},
        frameworks={
            n: _framework(n, v, f"frameworks.{n}", selftest=False, app=None, environment={})
            for n, v in _ordered(tables.frameworks, tables.order.frameworks)
        },
        routes=routes,
        presets={n: _preset(n, v, f"presets.{n}", tables.defaults) for n, v in presets},
        skips=tables.skip,
        default_python=tables.defaults.python,
        default_base=tables.defaults.base,
        selftests={n: _framework(n, v, f"selftests.{n}", selftest=True) for n, v in tables.selftests.items()},
    )
    for table in ("servers", "frameworks", "selftests", "routes", "presets"):
        for name in getattr(matrix, table):
            if not NAME.match(name):
                raise ValueError(f"{table}.{name}: a name may have only lower-case letters, digits and '-'")
    for python in matrix.pythons:
        python_image(python)
    for table, frameworks in (("frameworks", matrix.frameworks), ("selftests", matrix.selftests)):
        for framework in frameworks.values():
            _check_routes(framework, routes, f"{table}.{framework.name}")
    for skip in matrix.skips:
        if skip.route and skip.route not in routes:
            raise ValueError(f"skip of '{skip.service}': '{skip.route}' is not a route")
    return replace(matrix, services=tuple(legal_services(matrix, matrix.pythons, matrix.bases)))


def _ordered(entries: Mapping[str, Any], first: Sequence[str]) -> list[tuple[str, Any]]:
    return sorted(entries.items(), key=lambda one: first.index(one[0]) if one[0] in first else len(first))


def _check_routes(framework: Framework, routes: Mapping[str, Route], place: str) -> None:
    for route in framework.lacks:
        if route != "*" and route not in routes:
            raise ValueError(f"{place} lacks '{route}', which is not a route")
    for route in framework.offers:
        if route not in routes or routes[route].selftest:
            raise ValueError(f"{place} offers '{route}', which is not a route")
        if route in framework.lacks or "*" not in framework.lacks:
            raise ValueError(f"{place} offers '{route}': offers is for exceptions to lacks = '*'")


def _server(name: str, value: Any, tables: Tables) -> Server:
    place = f"servers.{name}"
    table = {**_earlier_facts(name, tables), **_table(value, place)}
    packages = {base: typed(Packages, table.pop(base), f"{place}.{base}") for base in tables.bases if base in table}
    defaults = _table(table.pop("defaults", {}), f"{place}.defaults").items()
    known = {kind: typed(Default, value, f"{place}.defaults.{kind}") for kind, value in defaults}
    server = _with_given(Server, table, place, name=name, packages=packages, defaults=known)
    if server.style not in ("sync", "async"):
        raise ValueError(f"{place}.style: '{server.style}' must be sync or async")
    return server


def _earlier_facts(server: str, tables: Tables) -> dict[str, Any]:
    """Notes and defaults from tables of their own, as before server.toml; the first default that matches applies."""
    defaults = {
        kind: Default(default.value, default.source)
        for kind, shared in tables.server_defaults.items()
        for default in reversed(shared)
        if any(fnmatch.fnmatchcase(server, pattern) for pattern in default.servers)
    }
    notes = {"notes": tables.notes[server]} if server in tables.notes else {}
    return notes | ({"defaults": defaults} if defaults else {})


def _route(name: str, value: Any) -> Route:
    """A route; in the file, what it sends stands among its keys.

    With `scenarios`, each of them says what it sends beside that, which the path may name: `/sse/{events}/{gap_ms}`.
    """
    table = dict(_table(value, place := f"routes.{name}"))
    if "path" not in table:
        raise ValueError(f"{place}: missing key 'path'")
    sent = {key: table.pop(key) for key in OF_EXCHANGE if key in table}
    several = _table(table.pop("scenarios", {}), f"{place}.scenarios")
    exchanges = {own: _exchange(sent, entry, f"{place}.scenarios.{own}") for own, entry in several.items()}
    given = {"exchange": next(iter(exchanges.values()), None) or _exchange(sent, {}, place), "exchanges": exchanges}
    if several:
        given["scenario"] = next(iter(several))
    return _with_given(Route, table, place, name=name, **given)


def _exchange(shared: Mapping[str, Any], entry: Any, place: str) -> Exchange:
    """What a scenario sends: what its route's have in common, and its own facts."""
    sent = {**shared, **_table(entry, place)}
    for key, value in _table(entry, place).items():
        sent["path"] = str(sent["path"]).replace(f"{{{key}}}", str(value))
    return typed(Exchange, sent, place)


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
        raise ValueError(f"{place}: {gone()['tables of a preset']}")
    usual = {key: getattr(defaults, key) for key in ("rounds", "duration", "warmup", "timeout")}
    usual |= {"pythons": [defaults.python], "bases": [defaults.base]}
    preset = _with_given(Preset, usual | dict(_table(value, place)), place, name=name)
    for level in (level for load in preset.loads for level in load.levels):
        Level.parse(level.text)
    of_loads = dict.fromkeys(stack for load in preset.loads for stack in load.stacks)
    return replace(preset, stacks=preset.stacks or tuple(of_loads))


def _check_texts(value: Any, place: str = "") -> None:
    """Raise ValueError unless every text and every key is a printable line."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_texts(key, f"a name in {place or 'the file'}")
            _check_texts(item, f"{place}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check_texts(item, f"{place}[{number}]")
    elif isinstance(value, str) and not (value and value.isprintable()):
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

"""Reads and checks services/matrix.toml: its keys and types first, so that a wrong one is named where it is read.

Every text is one line that can be shown: it becomes a name of a container, a line of a Compose file, a cell of a table.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.matrix.model import (
    NAME,
    Framework,
    Load,
    Matrix,
    Packages,
    Preset,
    Route,
    Server,
    Skip,
    legal_services,
    python_image,
)

MATRIX = Path("services/matrix.toml")
LOCAL = "matrix.local.toml"
"""Beside matrix.toml, not in git: values that are added to it, or replace one of its values."""


def load_matrix(path: Path = MATRIX) -> Matrix:
    """The matrix in the file, with `LOCAL` where that exists; UserError that names the file and the fault in it."""
    local = path.with_name(LOCAL)
    data = _read(path)
    if local.exists():
        data, path = merged(data, _read(local)), local
    try:
        return parse_matrix(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        detail = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path} is not a valid matrix: {detail}; see `git diff {path}`") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; run from the project's folder") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid TOML: {error}; fix that line, or `git checkout {path}`") from error


def merged(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both, table by table; any other value is the second one's."""
    found = dict(base)
    for key, value in other.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merged(found[key], value) if both else value
    return found


def parse_matrix(data: Mapping[str, Any]) -> Matrix:
    """The matrix of parsed TOML; KeyError, TypeError or ValueError where a key is missing or a value is wrong."""
    if data["schema"] != 1:
        raise ValueError(f"schema is {data['schema']}, this version reads 1")
    check_shape(data)
    defaults = data["defaults"]
    servers = {n: _server(n, v, data["bases"]) for n, v in data["servers"].items()}
    frameworks = {n: _framework(n, v) for n, v in data["frameworks"].items()}
    selftests = {n: _selftest(n, v) for n, v in data.get("selftests", {}).items()}
    routes = {n: Route(name=n, **v) for n, v in data["routes"].items()}
    for name in itertools.chain(servers, frameworks, selftests, routes, data["presets"]):
        if not NAME.match(name):
            raise ValueError(f"name '{name}' may hold only lower-case letters, digits and '-'")
    for python in data["pythons"]:
        python_image(python)
    for framework in (*frameworks.values(), *selftests.values()):
        for route in framework.lacks:
            if route != "*" and route not in routes:
                raise ValueError(f"framework {framework.name} lacks '{route}', which is not a route")
        for route in framework.offers:
            if route not in routes or routes[route].selftest:
                raise ValueError(f"framework {framework.name} offers '{route}', which is not a route")
            if route in framework.lacks or "*" not in framework.lacks:
                raise ValueError(f"framework {framework.name} offers '{route}', which only a lacks of '*' needs said")
    matrix = Matrix(
        bases=data["bases"],
        pythons=data["pythons"],
        servers=servers,
        frameworks=frameworks,
        routes=routes,
        presets={n: _preset(n, v, defaults) for n, v in data["presets"].items()},
        skips=tuple(Skip(**skip) for skip in data.get("skip", ())),
        default_python=defaults["python"],
        default_base=defaults["base"],
        selftests=selftests,
    )
    return replace(matrix, _services=tuple(legal_services(matrix, matrix.pythons, matrix.bases)))


def _server(name: str, value: Mapping[str, Any], bases: Iterable[str]) -> Server:
    if value["style"] not in ("sync", "async"):
        raise ValueError(f"server {name}: style '{value['style']}' must be sync or async")
    packages = {
        base: Packages(tuple(value[base].get("build", ())), tuple(value[base].get("run", ())))
        for base in bases
        if base in value
    }
    concurrent, reads = bool(value["concurrent"]), tuple(value.get("reads", ()))
    return Server(name, tuple(value["serves"]), value["style"], concurrent, packages, value["model"], reads)


def _framework(name: str, value: Mapping[str, Any]) -> Framework:
    needs = value["interface"]
    interfaces = (needs,) if isinstance(needs, str) else tuple(needs)
    return Framework(name, interfaces, dict(value.get("lacks", {})), tuple(value.get("offers", ())))


def _selftest(name: str, value: Mapping[str, Any]) -> Framework:
    environment = dict(value.get("environment", {}))
    return replace(_framework(name, value), selftest=True, app=value.get("app"), environment=environment)


def _load(value: Mapping[str, Any]) -> Load:
    names: dict[str, Any] = {key: tuple(names) for key, names in value.items() if key != "alone"}
    return Load(**names, alone=value.get("alone") is True)


def _preset(name: str, value: Mapping[str, Any], defaults: Mapping[str, Any]) -> Preset:
    loads = tuple(_load(load) for load in value["loads"])
    return Preset(
        name=name,
        title=value["title"],
        loads=loads,
        tables=tuple(value["tables"]),
        rounds=int(value.get("rounds", defaults["rounds"])),
        duration=float(value.get("duration", defaults["duration"])),
        warmup=float(value.get("warmup", defaults["warmup"])),
        timeout=float(value.get("timeout", defaults["timeout"])),
        workers=value.get("workers"),
        stacks=tuple(value.get("stacks", ())) or tuple(dict.fromkeys(s for load in loads for s in load.stacks)),
        pythons=tuple(value.get("pythons", (defaults["python"],))),
        bases=tuple(value.get("bases", (defaults["base"],))),
        packages=tuple(value.get("packages", ())),
        published=value.get("published"),
        keepalive=value.get("keepalive", True),
        mode=value.get("mode", "turns"),
        turn_rounds=value.get("turn_rounds"),
        turn_seconds=value.get("turn_seconds"),
        vary=tuple(value.get("vary", ())),
        vary_if_read=tuple(value.get("vary_if_read", ())),
    )


Check = Callable[[Any, str], None]
"""Of a value and its place in the file; ValueError where it is something else."""


def _is(fits: Callable[[Any], bool], what: str) -> Check:
    def check(value: Any, place: str) -> None:
        if not fits(value):
            raise ValueError(f"{place} is not {what}")

    return check


_TEXT = _is(lambda value: isinstance(value, str) and value != "" and value.isprintable(), "one line of text")
_FLAG = _is(lambda value: isinstance(value, bool), "true or false")
_COUNT = _is(lambda value: type(value) is int and 0 < value < 10_000, "a whole number above 0")
_SECONDS = _is(lambda value: type(value) in (int, float) and 0 <= value < 1e6, "a number of seconds")
_TABLE = _is(lambda value: isinstance(value, dict), "a table")


def _list_of(one: Check) -> Check:
    is_list = _is(lambda value: isinstance(value, list), "a list")

    def check(value: Any, place: str) -> None:
        is_list(value, place)
        for number, item in enumerate(value, 1):
            one(item, f"{place}, entry {number},")

    return check


def _table_of(one: Check) -> Check:
    def check(value: Any, place: str) -> None:
        _TABLE(value, place)
        for name, item in value.items():
            _TEXT(name, f"a name in {place}")
            one(item, f"{place}.{name}")

    return check


def _fields(required: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    known = {**required, **optional}

    def check(value: Any, place: str) -> None:
        _TABLE(value, place)
        for name in required:
            if name not in value:
                raise ValueError(f"'{name}' is missing in {place}")
        for name, item in value.items():
            if name not in known:
                raise ValueError(f"{place} has a key {name!r}, which there is not")
            known[name](item, f"{place}.{name}")

    return check


def _either(one: Check, other: Check) -> Check:
    return lambda value, place: (one if isinstance(value, str) else other)(value, place)


_NAMES = _list_of(_TEXT)
_PACKAGES = _fields({}, {"build": _NAMES, "run": _NAMES})
_FRAMEWORK = {"interface": _either(_TEXT, _NAMES)}, {"lacks": _table_of(_TEXT), "offers": _NAMES}
_LOAD = _fields({"scenarios": _NAMES, "tools": _NAMES, "levels": _NAMES}, {"stacks": _NAMES, "alone": _FLAG})
_ROUTE = _fields(
    {"scenario": _TEXT, "path": _TEXT},
    {"method": _TEXT, "body": _TEXT} | dict.fromkeys(("selftest", "basic", "database", "waits"), _FLAG),
)
_PRESET = _fields(
    {"title": _TEXT, "loads": _list_of(_LOAD), "tables": _NAMES},
    dict.fromkeys(("rounds", "workers", "turn_rounds"), _COUNT)
    | dict.fromkeys(("duration", "warmup", "timeout", "turn_seconds"), _SECONDS)
    | dict.fromkeys(("stacks", "pythons", "bases", "packages", "vary", "vary_if_read"), _NAMES)
    | {"published": _TEXT, "keepalive": _FLAG, "mode": _TEXT},
)


def check_shape(data: Mapping[str, Any]) -> None:
    """ValueError that names the place where a matrix is of another shape."""
    bases = data.get("bases", {})
    _table_of(_fields({"tag": _TEXT, "dockerfile": _TEXT}, {"image": _TEXT}))(bases, "bases")
    server = _fields(
        {"serves": _NAMES, "style": _TEXT, "concurrent": _FLAG, "model": _TEXT},
        {"reads": _NAMES} | dict.fromkeys(bases, _PACKAGES),
    )
    times = dict.fromkeys(("duration", "warmup", "timeout"), _SECONDS)
    selftest = _fields(_FRAMEWORK[0], _FRAMEWORK[1] | {"app": _TEXT, "environment": _table_of(_TEXT)})
    _fields(
        {
            "schema": _COUNT,
            "defaults": _fields({"python": _TEXT, "base": _TEXT, "rounds": _COUNT} | times, {}),
            "bases": _TABLE,
            "pythons": _table_of(_fields({}, {"suite": _TEXT})),
            "servers": _table_of(server),
            "frameworks": _table_of(_fields(*_FRAMEWORK)),
            "routes": _table_of(_ROUTE),
            "presets": _table_of(_PRESET),
        },
        {
            "selftests": _table_of(selftest),
            "sources": _table_of(_fields({"compiler": _FLAG, "what": _TEXT}, {})),
            "skip": _list_of(_fields({"service": _TEXT, "cause": _TEXT}, {"style": _TEXT})),
        },
    )(data, "the file")

"""Reads and checks services/matrix.toml."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.matrix.model import Matrix, legal_services
from bench.matrix.preset import Load, Preset
from bench.matrix.service import NAME, Framework, Packages, Route, Server, Skip, python_image
from bench.matrix.shape import check_shape

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

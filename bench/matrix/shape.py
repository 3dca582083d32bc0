"""The keys and types of services/matrix.toml, so that a wrong one is named where it is read, and no later.

Every text is one line that can be shown: it becomes a name of a container, a line of a Compose file, a cell of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

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

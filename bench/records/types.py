"""Type checks for the values of a line of records.jsonl."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields
from typing import Any


def wrong_types(values: Mapping[str, Any], record: type, mappings: Mapping[str, Collection[str]]) -> Iterator[str]:
    """The fields of `record` whose value is of a wrong type; `mappings` has the keys of fields with fixed keys."""
    for field in fields(record):
        kind, value = str(field.type), values.get(field.name, field.default)
        if value is None and kind.endswith(" | None"):
            continue
        keys = mappings.get(field.name)
        fits = _CHECKS[kind.removesuffix(" | None")](value)
        if not fits or (keys is not None and value.keys() != set(keys)):
            yield field.name


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 1 << 63


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (type(value) is float and math.isfinite(value))


def _all(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, tuple) and all(map(check, value))


def _by_name(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _count(value: Any) -> bool:
    """Whether it is a number of errors, or numbers by kind."""
    return value is None or _is_whole(value) or _by_name(_is_whole)(value)


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "str": _is_text,
    "int": _is_whole,
    "float": _is_number,
    "bool": lambda value: isinstance(value, bool),
    "tuple[str, ...]": _all(_is_text),
    "tuple[float, ...]": _all(_is_number),
    "tuple[Cause, ...]": _all(lambda cause: _is_text(cause.cause) and _is_text(cause.detail)),
    "Mapping[str, str]": _by_name(_is_text),
    "Mapping[str, float]": _by_name(_is_number),
    "Mapping[str, float | None]": _by_name(lambda value: value is None or _is_number(value)),
    "Mapping[str, Any]": _by_name(_count),
}
"""The check for each type, as it is written in the fields of a record."""

"""Values of JSON or TOML as types: dataclasses, tuples, mappings and plain values, with bounds by `msgspec.Meta`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_PLACE = re.compile(r" - at (?:`key` in )?`\$(.*)`\Z")


def typed(kind: type[T], value: Any, place: str = "") -> T:
    """`value` as `kind`; ValueError with the place of a value that does not fit, or of a key without a field."""
    made = read_as(kind, value, place)
    for where, key in _unknown_keys(value, made, place):
        raise ValueError(_sentence(where, f"unknown key {key!r}"))
    return made


def read_as(kind: type[T], value: Any, place: str = "") -> T:
    """Like `typed`, but keys without a field are ignored: other versions have others."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text, inner = str(error), ""
        if found := _PLACE.search(text):
            text, inner = text[: found.start()], found[1]
        text = text.replace("Object missing required field", "missing key").replace("Expected", "expected")
        raise ValueError(_sentence(f"{place}{inner}", text.replace("`", "'"))) from None


def _sentence(place: str, text: str) -> str:
    return f"{place.removeprefix('.')}: {text}".removeprefix(": ")


def _unknown_keys(value: Any, made: Any, place: str) -> Iterator[tuple[str, str]]:
    """(place, key) of what `made`, the typed form of `value`, has no field for."""
    if isinstance(value, list):
        for number, (item, own) in enumerate(zip(value, made, strict=True)):
            yield from _unknown_keys(item, own, f"{place}[{number}]")
    elif isinstance(value, dict):
        is_mapping = isinstance(made, dict)
        if not is_mapping:
            yield from ((place, key) for key in value.keys() - _field_names(made.__class__))
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _unknown_keys(item, made[key] if is_mapping else getattr(made, key), f"{place}.{key}")


@cache
def _field_names(kind: type) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind))

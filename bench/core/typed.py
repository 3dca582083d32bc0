"""Values of JSON or TOML as types: dataclasses, tuples, mappings and plain values, with bounds by `msgspec.Meta`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

import msgspec

from bench.core.errors import UserError

T = TypeVar("T")
_PLACE = re.compile(r" - at (?:`key` in )?`\$(.*)`\Z")


@dataclass_transform(frozen_default=True)
class TextValue:
    """A value that files have as text: equal, ordered and written by it. A subclass has `read`, which parses it.

    Its fields are declared as those of a dataclass, which msgspec would read from an object; the first one is `text`.
    """

    text: str

    def __init__(self, *values: Any, **named: Any) -> None:
        vars(self).update(dict(zip(type(self).__annotations__, values, strict=False)) | named)

    @property
    def json(self) -> str | None:
        """What JSON has for it."""
        return self.text

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.text == other.text

    def __lt__(self, other: TextValue) -> bool:
        return self.text < other.text

    def __hash__(self) -> int:
        return hash(self.text)


def read_text(value: Any) -> str:
    """The text of a file's value; TypeError if it is none."""
    if not isinstance(value, str):
        raise TypeError(f"expected 'str', got '{type(value).__name__}'")
    return value


def typed(kind: type[T], value: Any, place: str = "") -> T:
    """`value` as `kind`; ValueError with the place of a value that does not fit, or of a key without a field."""
    made = read_as(kind, value, place)
    for where, key in _unknown_keys(value, made, place):
        raise ValueError(_sentence(where, f"unknown key {key!r}"))
    return made


def read_typed(kind: type[T], file: Path, what: str) -> T:
    """A JSON file of schema 1 as `kind`; UserError if it is missing or does not describe `what`."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        if value.pop("schema") != 1:
            raise ValueError("another schema")
        return typed(kind, value)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{file} does not describe {what}: {error}") from error


def read_as(kind: type[T], value: Any, place: str = "") -> T:
    """Like `typed`, but keys without a field are ignored: other versions have others."""
    try:
        return msgspec.convert(value, kind, dec_hook=_of_text)
    except msgspec.ValidationError as error:
        text, inner = str(error), ""
        if found := _PLACE.search(text):
            text, inner = text[: found.start()], found[1]
        text = text.replace("Object missing required field", "missing key").replace("Expected", "expected")
        raise ValueError(_sentence(f"{place}{inner}", text.replace("`", "'"))) from None


def read_or_none(kind: type[T], value: Any) -> T | None:
    """Like `read_as`, but None for what does not fit."""
    with suppress(ValueError):
        return read_as(kind, value)
    return None


def as_plain(value: Any) -> Any:
    """A value as JSON types, the reverse of `typed`."""
    return msgspec.to_builtins(value, enc_hook=_text_of)


def encoded(value: Any) -> bytes:
    """A value as JSON, for `decoded`."""
    return msgspec.json.encode(value, enc_hook=_text_of)


def decoded(kind: type[T], data: bytes) -> T:
    """JSON as `kind`, if it is this version that wrote it."""
    return msgspec.json.decode(data, type=kind, dec_hook=_of_text)


def _of_text(kind: Any, text: Any) -> Any:
    return kind.read(text)


def _text_of(value: Any) -> str | None:
    return value.json  # type: ignore[no-any-return]


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
            yield from ((place, key) for key in value.keys() - made.__dataclass_fields__.keys())
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _unknown_keys(item, made[key] if is_mapping else getattr(made, key), f"{place}.{key}")

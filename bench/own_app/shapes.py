"""The shape of JSON values: their names and types, without the values.

A shape is recorded from several values, and says of other values where they first differ from it. No I/O.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct


class Plain(Struct, frozen=True, tag="plain"):
    """`null`, `boolean`, `number` or `string`; `any` if values of several types were seen."""

    kind: str


class Array(Struct, frozen=True, tag="array"):
    """What fits all items; None if only empty arrays were seen."""

    items: Shape | None = None


class Object(Struct, frozen=True, tag="object"):
    """The members by name; those of `optional` may be missing."""

    members: dict[str, Shape]
    optional: frozenset[str] = frozenset()


Shape = Plain | Array | Object
NULL, ANY = Plain("null"), Plain("any")


def shape_of(value: Any) -> Shape:
    """The shape of a JSON value."""
    if isinstance(value, dict):
        return Object({str(key): shape_of(item) for key, item in value.items()})
    if isinstance(value, list):
        return Array(merged([shape_of(item) for item in value]) if value else None)
    if value is None:
        return NULL
    if isinstance(value, bool):
        return Plain("boolean")
    return Plain("number" if isinstance(value, int | float) else "string")


def merged(shapes: Sequence[Shape]) -> Shape:
    """The shape that fits all of these, of which there is at least one; `any` if they have nothing in common."""
    known = [shape for shape in shapes if shape != NULL]
    objects = [shape for shape in known if isinstance(shape, Object)]
    arrays = [shape for shape in known if isinstance(shape, Array)]
    if objects and len(objects) == len(known):
        names = dict.fromkeys(name for one in objects for name in one.members)
        members = {name: merged([one.members[name] for one in objects if name in one.members]) for name in names}
        always = frozenset.intersection(*(frozenset(one.members) - one.optional for one in objects))
        return Object(members, frozenset(names) - always)
    if arrays and len(arrays) == len(known):
        items = [one.items for one in arrays if one.items is not None]
        return Array(merged(items) if items else None)
    if not known:
        return NULL
    return known[0] if all(shape == known[0] for shape in known) else ANY


def first_difference(expected: Shape, here: Shape, path: str = "") -> str:
    """Where a shape first differs from the expected one, in words; empty if nowhere. Null fits anything."""
    if ANY in (expected, here) or NULL in (expected, here):
        return ""
    if isinstance(expected, Object) and isinstance(here, Object):
        return _first_of_members(expected, here, path)
    if isinstance(expected, Array) and isinstance(here, Array):
        if expected.items is None or here.items is None:
            return ""
        return first_difference(expected.items, here.items, f"{path}[]")
    return "" if expected == here else f"{path or 'the body'} is {_kind(here)}, not {_kind(expected)}"


def _first_of_members(expected: Object, here: Object, path: str) -> str:
    for name, member in expected.members.items():
        place = f"{path}.{name}"
        if name not in expected.optional and (name not in here.members or name in here.optional):
            return f"{place} is missing"
        if name in here.members and (found := first_difference(member, here.members[name], place)):
            return found
    more = next((name for name in here.members if name not in expected.members), None)
    return "" if more is None else f"{path}.{more} is new"


def _kind(shape: Shape) -> str:
    if isinstance(shape, Plain):
        return f"a {shape.kind}"
    return "an array" if isinstance(shape, Array) else "an object"


def shape_words(shape: Shape) -> str:
    """`[{"id": number, "note"?: string}]`; a member with a question mark may be missing."""
    if isinstance(shape, Plain):
        return shape.kind
    if isinstance(shape, Array):
        return "[]" if shape.items is None else f"[{shape_words(shape.items)}]"
    members = [
        f"{json.dumps(name, ensure_ascii=False)}{'?' if name in shape.optional else ''}: {shape_words(member)}"
        for name, member in shape.members.items()
    ]
    return f"{{{', '.join(members)}}}"

"""The shape of JSON values: what several have in common, and where another one first differs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.own_app.shapes import Shape, first_difference, merged, shape_of, shape_words

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_what_was_seen_fits(values: list[Any]) -> None:
    """Also arrays whose objects have different keys, and keys that end in a question mark."""
    shape = merged([shape_of(value) for value in values])
    assert [first_difference(shape, shape_of(value)) for value in values] == [""] * len(values)
    assert first_difference(shape, shape) == ""
    assert msgspec.convert(msgspec.to_builtins(shape), Shape) == shape


SHAPES = [
    ([[{"id": 1}, {"id": 2, "note": "sold out"}]], '[{"id": number, "note"?: string}]'),
    ([{"a": 1, "b": None}, {"a": 1.5, "c": True}], '{"a": number, "b"?: null, "c"?: boolean}'),
    ([{"a?": 1}, {"a?": 2}], '{"a?": number}'),
    ([[1, "x"], []], "[any]"),
    ([[], []], "[]"),
    ([[1], {"a": 1}], "any"),
    ([None, 1], "number"),
]


@pytest.mark.parametrize(("seen", "words"), SHAPES)
def test_shapes_have_what_all_have_in_common(seen: list[Any], words: str) -> None:
    assert shape_words(merged([shape_of(value) for value in seen])) == words


DIFFERENCES = [
    ([{"a": 1}, {}], {}, ""),
    ([{"a": 1}], {}, ".a is missing"),
    ([{"a?": 1}], {"a": 1}, ".a? is missing"),
    ([{"a": [{"b": 1}]}], {"a": [{"b": 1}, {"b": 1, "c": {}}]}, ".a[].c is new"),
    ([{"a": [{"b": 1}]}], {"a": [{"b": 1}, {}]}, ".a[].b is missing"),
    ([[1]], [], ""),
    ([[1]], ["x"], "[] is a string, not a number"),
    ([[]], [1], ""),
    ([[]], {"a": 1}, "the body is an object, not an array"),
    ([None], "x", ""),
    (["x"], None, ""),
    ([1], "x", "the body is a string, not a number"),
    ([{"a": {"b": True}}], {"a": {"b": 0}}, ".a.b is a number, not a boolean"),
]


@pytest.mark.parametrize(("seen", "here", "words"), DIFFERENCES)
def test_the_first_difference(seen: list[Any], here: Any, words: str) -> None:
    assert first_difference(merged([shape_of(value) for value in seen]), shape_of(here)) == words

"""Expected responses of an app: what several responses have in common, and differences from that."""

import json
from typing import Any

import pytest

from bench.contract.client import Answer
from bench.own_app.answers import Unusable, difference, fits, from_json, merged, right_of, shape_of, unexpected
from bench.own_app.answers import as_json as text_of


def answer(body: Any, status: int = 200, media_type: str = "application/json; charset=utf-8") -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, (("content-type", media_type),), data, 0.01)


def page(text: str, status: int = 200) -> Answer:
    return answer(text.encode(), status, "text/html")


def test_json_is_compared_by_its_names_and_types() -> None:
    right = right_of("GET /", [answer({"id": n, "tags": ["a"] * n, "note": None}) for n in (1, 2, 0)])
    assert difference(right, answer({"id": 99, "tags": [], "note": "new"})) == ""
    assert "200 application/json" in difference(right, answer({"id": "99", "tags": [], "note": None}))
    assert difference(right, answer({"id": 1, "tags": []})) != ""
    assert difference(right, answer({"id": 1, "tags": [], "note": None, "more": 1})) != ""
    assert difference(right, answer({"id": 1, "tags": [], "note": None}, status=500)).startswith("500 application/json")


def test_anything_else_by_its_length_unless_that_varies() -> None:
    fixed = right_of("GET /", [page("hello")] * 3)
    assert difference(fixed, page("HELLO")) == ""
    assert difference(fixed, page("hello!")) == "200 text/html, 6 bytes"
    varying = right_of("GET /", [page("a"), page("bb"), page("a")])
    assert difference(varying, page("dddd")) == ""
    assert "500 text/html" in difference(varying, page("Internal Server Error", 500))


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([page("no", 500)] * 3, "gives 500: no"),
        ([page("a"), page("b", 503)], "gives 200 and 503 in turn"),
        ([page("a"), answer([])], "gives application/json and text/html in turn"),
        ([page("moved", 302)], "gives 302"),
    ],
)
def test_what_cannot_be_a_yardstick(answers: list[Answer], words: str) -> None:
    with pytest.raises(Unusable, match=words):
        right_of("GET /", answers)


def test_shapes_merge_to_what_fits_all() -> None:
    assert merged([shape_of({"a": 1, "b": None}), shape_of({"a": 1.5, "c": True})]) == {
        "a": "number",
        "b?": "null",
        "c?": "boolean",
    }
    assert merged([shape_of([1, "x"]), shape_of([])]) == ["any"]
    assert merged([{"a?": "number"}, {"a?": "number"}]) == {"a?": "number"}


@pytest.mark.parametrize(
    ("expected", "shape", "right"),
    [
        ({"a?": "number"}, {}, True),
        ({"a": "number"}, {}, False),
        (["number"], [], True),
        (["number"], ["string"], False),
        ([], ["number"], True),
        ([], {"a": "number"}, False),
        ("null", "string", True),
        ("string", "null", True),
        ("number", "string", False),
        ({"a": "number"}, "string", False),
    ],
)
def test_fits(expected: Any, shape: Any, right: bool) -> None:
    assert fits(expected, shape) is right


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        ({}, ""),
        ({"status": 201}, "expected status 201, got 200"),
        ({"contains": ["alice", "bob"]}, "expected 'bob' in the body"),
        ({"headers": {"X-A": "1"}}, "expected the header X-A: 1, got none"),
        ({"json": {"user": {"name": "alice"}}}, ""),
        ({"json": {"user": {"name": "bob"}}}, 'expected {"user": {"name": "bob"}} in the body'),
    ],
)
def test_expect(expect: dict[str, Any], words: str) -> None:
    found = unexpected(expect, answer({"user": {"name": "alice", "id": 1}}))
    assert found == words if not words else words in found


def test_what_is_written_is_what_is_read() -> None:
    rights = (right_of("GET /", [answer({"a": [1]})]), right_of("GET /b", [page("x")]))
    assert from_json(text_of(rights, "uvicorn-shop")) == (rights, "uvicorn-shop")

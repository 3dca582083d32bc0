"""Expected responses of an app: what several responses have in common, and differences from that."""

import json
from typing import Any

import pytest

from bench.contract.client import Answer
from bench.core.errors import UserError
from bench.own_app.answers import Unusable, difference, from_json, right_of, unexpected
from bench.own_app.answers import as_json as text_of


def answer(body: Any, status: int = 200, media_type: str = "application/json; charset=utf-8") -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, (("content-type", media_type),), data, 0.01)


def page(text: str, status: int = 200) -> Answer:
    return answer(text.encode(), status, "text/html")


def test_json_is_compared_by_its_names_and_types() -> None:
    right = right_of("GET /", [answer({"id": n, "tags": ["a"] * n, "note": None}) for n in (1, 2, 0)])
    assert difference(right, answer({"id": 99, "tags": [], "note": "new"})) == ""
    assert difference(right, answer({"id": "99", "tags": [], "note": None})) == ".id is a string, not a number"
    assert difference(right, answer({"id": 1, "tags": []})) == ".note is missing"
    assert difference(right, answer({"id": 1, "tags": [], "note": None, "more": 1})) == ".more is new"
    assert difference(right, answer(b"{")) == "200 application/json, 1 bytes"
    assert difference(right, answer(None)) == "200 application/json, 4 bytes"
    nothing = right_of("GET /", [answer(None)] * 3)
    assert difference(nothing, answer(None)) == "" and difference(nothing, answer({"id": 1})) != ""
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
        ([page("Invalid host header", 400)], "gives 400: Invalid host header; .* below each request in --targets FILE"),
    ],
)
def test_what_cannot_be_a_yardstick(answers: list[Answer], words: str) -> None:
    with pytest.raises(Unusable, match=words):
        right_of("GET /", answers)


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


def test_answers_of_another_version_are_not_guessed() -> None:
    with pytest.raises(UserError, match="another version"):
        from_json('{"schema": 1, "service": "a", "answers": [{"target": "GET /", "status": 200, "shape": ["number"]}]}')

"""Expected responses of an app: what several responses have in common, and differences from that."""

import json
import re
from typing import Any

import pytest
from tables import rows

from bench.contract.client import Answer
from bench.core.errors import UserError
from bench.own_app.answers import Unusable, difference, from_json, location_of, right_of, unexpected, without_origin
from bench.own_app.answers import as_json as text_of


def answer(body: Any, status: int = 200, media_type: str = "application/json; charset=utf-8") -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, (("content-type", media_type),), data, 0.01)


def page(text: str, status: int = 200) -> Answer:
    return answer(text.encode(), status, "text/html")


def expect_words(target: str, status: int, page: str = "") -> str:
    """A pattern for the hint at other requests, such as a `page`, and at --expect."""
    such = page and f", such as GET {page}"
    words = f'--targets FILE{such}, or if that is right, give --expect FILE with {{"{target}": {{"status": {status}}}}}'
    return f"{re.escape(words)}$"


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


def test_what_cannot_be_a_yardstick() -> None:
    for other, words in ((page("b", 503), "200 and 503"), (answer([]), "application/json and text/html")):
        with pytest.raises(Unusable, match=f"gives {words} in turn") as raised:
            right_of("GET /", [page("a"), other])
        assert raised.value.hint == ""


def redirect(location: str, status: int = 302, body: str = "") -> Answer:
    return Answer(status, (("Content-Type", "text/html"), ("location", location)), body.encode(), 0.01)


LOGIN = redirect("/auth/login", body="Redirecting")


REFUSED = [
    ("GET /", page("Invalid host header", 400), "400: Invalid host header", "checks the Host header .*'Host: "),
    ("GET /a", page("", 401), "401", "a login or a token, write the header"),
    ("GET /a", page("CSRF", 403), "403: CSRF", "a login or a token, write the header"),
    ("POST /a", page("no such", 404), "404: no such", "^choose other requests with --targets FILE$"),
    ("GET /", page("no", 500), "500: no", "migrations, a seed, collectstatic.* with --before$"),
    ("GET /", page("<html><title>\n 500 &amp; more</title><h1>x", 503), "503: 500 & more", "--before$"),
    ("GET /", page("slow down", 429), "429: slow down", "limits how many requests it answers: turn that off$"),
    # A page says where it leads, which its body often does not.
    ("GET /", LOGIN, "302, a redirect to /auth/login", expect_words("GET /", 302, "/auth/login")),
    ("POST /a", redirect("/a/", 308), "308, a redirect to /a/", expect_words("POST /a", 308)),
    ("GET /", page("", 304), "304", expect_words("GET /", 304)),
    ("GET /", page("lost", 302), "302: lost", expect_words("GET /", 302)),
    # The same page with TLS, which is no other request.
    ("GET /", redirect("https://shop:8080/", 301), "301, a redirect to https://shop:8080/", "redirects to https"),
    ("GET /", redirect("https://shop", 301), "301, a redirect to https://shop", "it redirects to https"),
    ("GET /a?b=1", redirect("https://x/a?b=1", 301), "301, .*", "X-Forwarded-Proto: https"),
    # Another site, or another page.
    ("GET /", redirect("https://login.example.org/oauth"), "302, .*", expect_words("GET /", 302)),
    ("GET /a", redirect("https://x/a/"), "302, .*", expect_words("GET /a", 302)),
]


@pytest.mark.parametrize(("target", "answer", "words", "hint"), REFUSED)
def test_refused_responses_and_their_hints(target: str, answer: Answer, words: str, hint: str) -> None:
    with pytest.raises(Unusable, match=f"^{target.replace('?', '.')} gives {words}$") as raised:
        right_of(target, [answer] * 3)
    assert re.search(hint, raised.value.hint)


def test_a_redirect_is_right_only_if_that_is_expected_and_leads_where_it_did() -> None:
    right = right_of("POST /a", [redirect("/done", body="x" * n) for n in range(3)], 302)
    assert (right.status, right.location, right.length) == (302, "/done", None)
    assert right.words() == "302 text/html, to /done"
    # Its page is not compared, as it may name the server.
    assert difference(right, redirect("/done", body="other")) == ""
    assert difference(right, redirect("/error")) == "302 text/html, to /error"
    assert difference(right, redirect("/done", 303)).startswith("303 text/html, to /done")
    assert difference(right, page("the form again")) == "200 text/html, 14 bytes: the form again"
    page_expected = right_of("GET /", [page("hello")] * 3)
    assert "302 text/html, to /done" in difference(page_expected, redirect("/done"))
    for status in (None, 200, 303):
        with pytest.raises(Unusable, match="gives 302, a redirect to /done"):
            right_of("POST /a", [redirect("/done")] * 3, status)
    with pytest.raises(Unusable, match="gives 404"):
        right_of("POST /a", [page("", 404)] * 3, 404)


def test_a_redirect_may_lead_to_what_it_has_just_made() -> None:
    right = right_of("POST /a", [redirect(f"/a/{n}") for n in range(3)], 302)
    assert right.location is None and difference(right, redirect("/a/9")) == ""


@pytest.mark.parametrize(("location", "here"), rows(__file__, "locations"))
def test_a_redirect_to_the_service_itself_is_the_same_on_every_server(location: str, here: str) -> None:
    assert location_of(without_origin(redirect(location), "http://uvicorn-shop:8080")) == here
    assert without_origin(page(location), "http://uvicorn-shop:8080") == page(location)


@pytest.mark.parametrize(("expect", "words"), rows(__file__, "expected"))
def test_expect(expect: dict[str, Any], words: str) -> None:
    found = unexpected(expect, answer({"user": {"name": "alice", "id": 1}}))
    assert found == words if not words else words in found


def test_what_is_written_is_what_is_read() -> None:
    rights = (right_of("GET /", [answer({"a": [1]})]), right_of("GET /b", [page("x")]))
    rights += (right_of("POST /c", [redirect("/done")], 302),)
    assert from_json(text_of(rights, "uvicorn-shop")) == (rights, "uvicorn-shop")


def test_answers_of_another_version_are_not_guessed() -> None:
    with pytest.raises(UserError, match="another version"):
        from_json('{"schema": 1, "service": "a", "answers": [{"target": "GET /", "status": 200, "shape": ["number"]}]}')

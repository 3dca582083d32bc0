"""Targets in vegeta's format, their weights, and the files that the tools read."""

from pathlib import Path

import pytest
from tables import rows

from bench.core.errors import UserError
from bench.own_app.targets import DEFAULT, Target, headers_of, lua_script, order, parse_targets, vegeta_targets

TEXT = Path(__file__).with_name("targets.txt").read_text()


def parsed(text: str, folder: Path = Path()) -> tuple[Target, ...]:
    return parse_targets(text, folder, "targets.txt")


def test_requests_headers_bodies_weights_and_names(tmp_path: Path) -> None:
    (tmp_path / "order.txt").write_bytes(b"\xff two")
    page, ordered, root = parsed(TEXT, tmp_path)
    host = ("Host", "localhost")
    assert page == Target("get-products-page-2", "GET", "/products?page=2", (("X-Token", "abc"), host), None, 3)
    # The host in the file is ignored: requests go to the service under test.
    assert ordered == Target("order", "POST", "/orders", (("Content-Type", "text/plain"), host), b"\xff two")
    assert root == DEFAULT == Target("get-root", headers=(host,))


def test_a_target_may_say_which_host_it_is_for() -> None:
    (page,) = parsed("GET /\nhost: shop.example\n")
    # As wrk writes it itself: a second one would be sent beside it.
    assert page.headers == (("Host", "shop.example"),)
    assert 'headers = {["Host"] = "shop.example"}' in lua_script([page])
    assert vegeta_targets([page], "load").splitlines()[1] == "Host: shop.example"


def test_two_targets_of_the_same_words_have_two_names() -> None:
    assert [target.name for target in parsed("GET /a\n\nGET /a/\n")] == ["get-a", "get-a-2"]


NO_TARGETS = [*rows(__file__, "targets"), ("GET /\n\n" * 51, "the limit is 50")]


@pytest.mark.parametrize(("text", "words"), NO_TARGETS)
def test_what_is_no_target_is_said_with_its_line(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words.replace("(", r"\(")):
        parsed(text)


def test_weights_are_spread_evenly() -> None:
    targets = [Target("a", weight=4), Target("b", weight=2), Target("c", weight=2)]
    assert order(targets) == [1, 2, 3, 1]


def test_wrk_gets_every_byte_of_a_target_as_a_string_of_lua() -> None:
    script = lua_script([Target("a", "POST", '/"\\', (("X", "ä"),), b"body")])
    assert r'path = "/\034\092"' in script
    assert r'["X"] = "\195\164"' in script
    assert 'body = body("body-1")' in script
    assert "local order = {1}" in script


def test_vegeta_gets_the_same_requests_in_the_same_order() -> None:
    targets = [Target("a", path="/a", weight=2), Target("b", "PUT", "/b", (), b"x")]
    text = vegeta_targets(targets, "results/run/app/load/mix")
    assert text.split("\n\n") == [
        "GET http://ORIGIN/a",
        "PUT http://ORIGIN/b\nContent-Type: application/json\n@results/run/app/load/mix/body-2",
        "GET http://ORIGIN/a\n",
    ]


def test_a_body_without_a_type_is_json_and_one_with_a_type_keeps_it() -> None:
    assert headers_of(Target("a", "POST", body=b"{}")) == (("Content-Type", "application/json"),)
    typed = Target("a", "POST", headers=(("content-type", "text/csv"),), body=b"1")
    assert headers_of(typed) == typed.headers

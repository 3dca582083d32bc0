"""`names`: what `scripts/matrix.sh --list WHAT` prints."""

from __future__ import annotations

import re

import pytest
from captured import Capture, printed

from bench.cli.names import LISTS
from bench.core.errors import LISTED, unknown
from bench.matrix.load import load_matrix
from bench.tools.levels import Level


def listed(what: str, capsys: Capture) -> dict[str, str]:
    """The description of each name."""
    lines = printed(capsys, "names", what).splitlines()
    return dict(re.fullmatch(r"(\S+) *(.*)", line).groups() for line in lines)  # type: ignore[union-attr]


def test_every_name_that_may_be_wrong_has_a_list() -> None:
    for what, one in zip(LISTS, LISTED, strict=True):
        assert str(unknown(one, "?", [])).endswith(f" scripts/matrix.sh --list {what} lists all")


def test_all_names_are_those_of_the_matrix(capsys: Capture) -> None:
    matrix = load_matrix()
    known = {"presets": matrix.presets, "servers": matrix.servers, "frameworks": matrix.frameworks}
    known |= {"pythons": matrix.pythons, "bases": matrix.bases}
    for what, names in known.items():
        assert list(listed(what, capsys)) == list(names)
    assert list(listed("stacks", capsys)) == matrix.stacks
    assert list(listed("services", capsys)) == [one.name for one in matrix.services]
    for scenario in listed("scenarios", capsys):
        assert not matrix.route_of(scenario.replace("N", "3"))[0].selftest


CLOSES = "16 connections at once, each closed after one response (closed loop)"
EXPLAINED = {
    "presets four-tools": "One cell, four tools",
    "stacks aiohttp": "processes, event loop (asyncio)",
    "stacks gunicorn-asgi-quart": "left out: the 17th request with a body on one connection never gets a response",
    "servers bjoern": "processes, C event loop (libev), one request each; hosts WSGI",
    "frameworks tornado": r"on tornado; tornado \d.*",
    "frameworks wsgi": "on WSGI servers",
    "pythons 3.13": "the default",
    "pythons 3.9": "",
    "scenarios delay-N": "GET /?duration=N: every response waits for N ms",
    "scenarios json": "GET /json",
    "scenarios updates-N-orm": "GET /orm/updates/N: every response waits for the database",
    "scenarios echo": 'POST /echo {"message":"Hello, World!"}',
    "tools vegeta": "levels such as r500, knee:p99=50ms, knee70:p99=50ms and share50",
    "levels c100r8000": "100 connections, at most 8,000 requests/s in all (closed loop); by hey",
    "levels c16close": f"{CLOSES}; also r500close; by wrk, ab and hey",
    "knobs WORKERS": "a whole number above 0; every server",
    "knobs UVICORN_*": "variables that uvicorn and uvicorn-h11 read",
}


@pytest.mark.parametrize("entry", EXPLAINED)
def test_a_few_words_explain_a_name(entry: str, capsys: Capture) -> None:
    what, name = entry.split()
    said, words = listed(what, capsys)[name], EXPLAINED[entry]
    assert said == words or re.fullmatch(words, said)


def test_each_level_listed_is_one(capsys: Capture) -> None:
    assert len({Level.parse(form) for form in listed("levels", capsys)}) == 9


def test_nothing_else_is_taken(capsys: Capture) -> None:
    for argv, words in (
        (["stack"], "unknown list 'stack'; did you mean stacks? there are: presets, stacks, "),
        (["stacks", "--server", "aiohttp"], "--list stacks prints all names and takes no other option (--server)"),
    ):
        assert words in printed(capsys, "names", *argv, status=2)

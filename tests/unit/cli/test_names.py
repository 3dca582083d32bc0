"""The lists of `scripts/matrix.sh --list WHAT`: their names are those that options take."""

from __future__ import annotations

import re
from functools import cache

import pytest
from make_plans import MATRIX, plan
from messages import MESSAGES

from bench.cli.names import LISTS, names_file
from bench.core.errors import LISTED, unknown
from bench.plan.events import EVENTS, kinds_of
from bench.tools.levels import Level


@cache
def lists() -> dict[str, dict[str, str]]:
    """The description of each name, by list."""
    found: dict[str, dict[str, str]] = {}
    for line in names_file(MATRIX).splitlines()[1:]:
        what, name, words = line.split("\t")
        assert name not in found.setdefault(what, {})
        found[what][name] = words
    return found


def test_every_name_that_may_be_wrong_has_a_list() -> None:
    for what, one in zip(LISTS, LISTED, strict=True):
        assert str(unknown(one, "?", [])).endswith(f" scripts/matrix.sh --list {what} lists all")


def test_all_names_are_those_of_the_matrix() -> None:
    known = {"presets": MATRIX.presets, "servers": MATRIX.servers, "frameworks": MATRIX.frameworks}
    known |= {"pythons": MATRIX.pythons, "bases": MATRIX.bases}
    for what, names in known.items():
        assert list(lists()[what]) == list(names)
    assert list(lists()["stacks"]) == MATRIX.stacks
    assert list(lists()["services"]) == [one.name for one in MATRIX.services]
    for scenario in lists()["scenarios"]:
        assert not MATRIX.route_of(scenario.replace("N", "3"))[0].selftest


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_is_listed_for_the_servers_that_take_it_with_each_of_its_cases(event: str) -> None:
    words = lists()["events"][event]
    named = re.search(r"; only by name: (.+?)(?:; not for |$)", words)
    cases = [case.level for case in EVENTS[event].cases]
    assert set(re.split(", | and ", named[1]) if named else ()) <= {*cases}
    stacks = tuple(dict.fromkeys(service.stack for service in MATRIX.usual))
    taken = {cell.service.server.name for cell in plan(stacks=stacks, events=tuple(cases)).events}
    excluded = words.partition("; not for ")[2]
    others = set(re.split(", | and ", excluded)) if excluded else set()
    assert others == {service.server.name for service in MATRIX.usual} - taken
    assert [case.level for kind in kinds_of(cases) for case in kind.cases] == cases


def test_uvicorn_can_have_slow_clients() -> None:
    assert "uvicorn" not in lists()["events"]["slow"].partition("not for")[2]
    assert plan(stacks=("uvicorn-asgi",), events=("slow",)).events


def test_a_stack_that_no_glob_matches_says_so() -> None:
    of_glob = {cell.service.stack for cell in plan(servers=("*",), scenarios=("json",), tools=("wrk",)).cells}
    for stack, words in lists()["stacks"].items():
        assert (stack in of_glob) == (not words.startswith(("only by name: ", "left out: "))), stack


EXPLAINED = MESSAGES["names"]


@pytest.mark.parametrize("entry", EXPLAINED)
def test_a_few_words_explain_a_name(entry: str) -> None:
    what, name = entry.split()
    said, words = lists()[what][name], EXPLAINED[entry]
    assert said == words or re.fullmatch(words, said)


def test_each_level_listed_is_one() -> None:
    assert len({Level.parse(form) for form in lists()["levels"]}) == 9

"""What a run.json says, also one that is damaged or of another version; what the scenarios of earlier runs wait for."""

import json
from pathlib import Path
from typing import Any

import pytest
from make_plans import MATRIX, plan
from places import ROOT

from bench.cli.arguments import parse_selection
from bench.cli.plan import make_run
from bench.core.exchange import Wait, WaitsFor
from bench.plan.measurement import SkippedCell
from bench.run.facts import AppFacts, Harness, RunFacts, RunService, run_facts_of
from bench.run.writer import run_facts


def test_earlier_runs_have_the_waits_that_routes_declare() -> None:
    for route in MATRIX.routes.values():
        for number in ("0", "20"):
            scenario = route.scenario.replace("{n}", number)
            exchange = route.exchange_of(scenario)
            assert exchange and exchange.wait == RunFacts().wait_of(scenario), scenario


def test_a_runs_own_facts_come_before_names() -> None:
    made = plan(stacks=("aiohttp", "tornado"), scenarios=("json", "delay-20", "db-raw", "simple-request-0"))
    facts = run_facts_of(run_facts("a-run", made, {}, 1, parse_selection([])))
    waits = {"delay-20": Wait(WaitsFor.TIMER, 20), "db-raw": Wait(WaitsFor.DATABASE)}
    waits |= {"simple-request-0": Wait(WaitsFor.UPSTREAM)}
    names = ("json", "delay-20", "db-raw", "simple-request-0", "delay-50")
    assert [facts.wait_of(name) for name in names] == [waits.get(name) for name in names]


@pytest.mark.parametrize(
    "waits", [None, 3, [], {"delay-20": 20}, {"delay-20": {"on": "tides"}}, {"delay-20": {"on": "timer", "ms": -1}}]
)
def test_damaged_facts_say_nothing(waits: Any) -> None:
    assert run_facts_of({"waits": waits}).wait_of("delay-20") is None


PUBLISHED = ROOT / "results/published"
TABLE = {"scenario": "json", "tool": "wrk", "level": "c16", "waits": False, "rounds": 6}
UNSORTED, TWICE = {"services": ["a"], "looks": [8, 6]}, {"services": ["a", "a"], "looks": [6]}
HIDDEN, HARNESS = {"cpu": "a CPU", "smt": None}, {"hash": 3, "commit": None, "branch": "b"}
SKIPPED = [None, {"service": "a"}, {"service": "a", "cause": "why", "tool": None}]
APP = {"name": "shop", "targets": [{}], "cpu_hour_price": None}
DAMAGED: dict[str, tuple[Any, RunFacts]] = {
    "no object": ([1], RunFacts()),
    "an unknown key": ({"moon": {"phase": 3}, "seed": 7}, RunFacts(seed=7)),
    "another type": ({"seed": True, "command": ["a", 3], "profile": 1, "run": None, "title": ["x"]}, RunFacts()),
    "a setting": ({"knobs": {"WORKERS": "2", "SEED": 7, "MEMORY": None}}, RunFacts(knobs={"WORKERS": "2"})),
    "what the machine hides": ({"host": HIDDEN | {"missing": {"smt": "hidden"}}}, RunFacts(host=HIDDEN)),
    "a part of the harness": ({"harness": HARNESS}, RunFacts(harness=Harness(branch="b"))),
    "a service keeps its name": (
        {"services": {"a": None, "b": {"server": 3, "url": "x"}, "c": {"server": "s", "base": None, "new": 1}}},
        RunFacts(services={"a": RunService(), "b": RunService(), "c": RunService(server="s")}),
    ),
    "a skipped cell": ({"skipped": SKIPPED}, RunFacts(skipped=(SkippedCell("a", "why"),))),
    "a table": ({"tables_in_turns": [TABLE | UNSORTED, TABLE | TWICE]}, RunFacts()),
    "an app": ({"own_app": APP}, RunFacts(own_app=AppFacts(name="shop"))),
    "no app": ({"own_app": None}, RunFacts()),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_malformed_is_left_out_and_the_rest_is_kept(name: str) -> None:
    content, facts = DAMAGED[name]
    assert run_facts_of(content) == facts


COUNTED = {"services", "knobs", "tables_in_turns", "skipped", "packages"}


def unread(content: dict[str, Any]) -> set[str]:
    """What a file says and its value does not: nobody would notice."""
    facts = run_facts_of(content)
    own = {name: part for name in RunFacts.__slots__ if (part := content.get(name))}
    empty = {name for name in own if not getattr(facts, name)}
    short = {name for name in COUNTED & own.keys() if len(getattr(facts, name)) < len(own[name])}
    return empty | short | {name for name, service in facts.services.items() if not service.stack}


@pytest.mark.parametrize("name", sorted(path.parent.name for path in PUBLISHED.glob("*/run.json")))
def test_all_of_a_published_run_is_read(name: str) -> None:
    assert unread(json.loads((PUBLISHED / name / "run.json").read_text())) == set()


def test_all_that_is_written_is_read(tmp_path: Path) -> None:
    words = ["--preset", "bad-day", "--stack", "gunicorn-sync-flask,uvicorn-fastapi"]
    content = json.loads((make_run(parse_selection(words), tmp_path / "run") / "run.json").read_text())
    assert unread(content) == set() and content["defaults"]
    assert unread({"services": {"a": {"stack": 1}}, "mode": 3, "knobs": {"A": 1}}) == {"a", "mode", "knobs"}

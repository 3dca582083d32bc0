"""Servers that already run (--target): which may be loaded, and their place in a plan."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import make_plans
import pytest
from an_app import an_app
from golden import cases, same_as
from make_plans import HERE as PROJECT
from make_plans import MATRIX, asked_in, told

from bench.cli.arguments import parse_selection
from bench.core.errors import UserError
from bench.load.task import task_of
from bench.matrix.knobs import parse_knob
from bench.matrix.settings import read_settings
from bench.own_app.app import with_own_app
from bench.own_app.targets import Target
from bench.plan.cells import Plan
from bench.plan.cpus import resolve
from bench.plan.make import make_plan
from bench.plan.measurement import planned_of
from bench.plan.order import measurements
from bench.plan.running import OWNED, parse_running
from bench.plan.selection import Selection
from bench.run.writer import routes_to_verify, run_facts, service_facts, write_run
from bench.schedule.step_file import host_step
from bench.schedule.steps import Step
from driver.messages import RUN_JSON, facts_of, read

HERE = "http://127.0.0.1:8000"
NAME = "target-127.0.0.1-8000"
GOLDEN = Path(__file__).with_name("golden")
URLS = tomllib.loads(Path(__file__).with_name("urls.toml").read_text())


def plan(*urls: str, **wanted: Any) -> Plan:
    running = tuple(parse_running(url, owned=False) for url in urls)
    return make_plans.plan(running=running, **wanted)


@pytest.mark.parametrize(("url", "origin", "name", "path"), URLS["here"])
def test_a_server_on_this_machine(url: str, origin: str, name: str, path: str) -> None:
    found = parse_running(url, owned=False)
    assert (found.origin, found.name, found.path, found.owned) == (origin, name, path, False)
    # On this machine, the flag has no effect.
    assert not parse_running(url, owned=True).owned


@pytest.mark.parametrize("url", URLS["elsewhere"])
def test_any_other_address_needs_the_users_word(url: str) -> None:
    with pytest.raises(UserError, match=rf"is not this machine .* add {OWNED}\Z"):
        parse_running(url, owned=False)


def test_with_the_users_word_any_address_can_be_named_and_it_is_kept_that_it_was_given() -> None:
    found = parse_running("http://server.example/x", owned=True)
    assert (found.origin, found.owned) == ("http://server.example:80", True)
    assert found.service().owned


@pytest.mark.parametrize(("url", "words"), URLS["refused"])
def test_what_is_no_server_is_refused_in_one_line(url: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as refused:
        parse_running(url, owned=True)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


OTHER = "http://127.0.0.1:8001"
BESIDE = {"stacks": ("uvicorn-asgi", "aiohttp"), "scenarios": ("json",)}


def test_plans_with_servers_that_run() -> None:
    asked = asked_in(GOLDEN / "running.toml")
    found = {case: told(partial(plan, *wanted.pop("urls", ()), **wanted)) for case, _, wanted in asked}
    same_as(GOLDEN / "running.txt", cases(found))


def test_each_is_asked_its_own_path() -> None:
    made = plan(f"{HERE}/a/b", f"{OTHER}/a-b")
    assert {cell.scenario: cell.exchange.path for cell in made.cells} == {"get-a-b": "/a/b", "get-a-b-2": "/a-b"}
    cells = plan(HERE, scenarios=("json", "plaintext")).cells
    assert {cell.exchange.path for cell in cells} == {"/json", "/plaintext"}


def test_one_load_generator_is_for_all_of_a_table_whatever_block_a_service_is_in() -> None:
    beside = [line for line in measurements(plan(HERE, **BESIDE), 1) if line.mode == "turns"]
    assert all(line.host_network for line in beside)
    assert {line.url for line in beside if line.service == NAME} == {HERE}
    assert {line.url for line in beside if line.service != NAME} == {None}
    alone = measurements(plan(f"{HERE}/some/path"), 1)
    assert {(line.mode, line.url, line.host_network) for line in alone} == {("solo", HERE, True), ("null", None, False)}


def test_beside_ones_own_app_it_is_asked_what_the_app_is_asked() -> None:
    app = an_app(Target("one", path="/1"), Target("two", "POST", "/2", body=b"{}"))
    wanted = Selection(running=(parse_running(HERE, owned=False),), frameworks=("shop",), servers=("uvicorn",))
    made = make_plan(replace(PROJECT, matrix=with_own_app(MATRIX, app)), wanted)
    lines = [line for line in measurements(made, 1) if line.service == NAME]
    assert {(line.scenario, line.requests, line.exchange.targets, line.url) for line in lines} == {
        ("mix", "app/load/mix", 2, HERE)
    }


def plan_of_shop(**wanted: Any) -> Plan:
    """The plan for an own app on the servers that are wanted."""
    app = an_app(Target("one", path="/1"), folder="/home/me/shop", interface="wsgi")
    here = replace(PROJECT, matrix=with_own_app(MATRIX, app))
    return make_plan(here, Selection(**{"frameworks": ("shop",), **wanted}))


@pytest.mark.parametrize(
    ("wanted", "title"),
    [
        ({}, "Which server for ./shop (a:b)?"),
        ({"pythons": ("3.13", "3.14")}, "Which server and Python for ./shop (a:b)?"),
        (
            {"servers": ("waitress",), "vary": (parse_knob("THREADS=2,4"),)},
            "Which THREADS for ./shop (a:b) on waitress?",
        ),
        ({"servers": ("waitress",), "running": (parse_running(HERE, owned=False),)}, "Which server for ./shop (a:b)?"),
        ({"servers": ("waitress",)}, "./shop (a:b) on waitress"),
    ],
)
def test_the_title_of_ones_own_app_is_its_question(wanted: dict[str, Any], title: str) -> None:
    assert plan_of_shop(**wanted).preset.title == title


def test_ones_own_app_is_under_one_event_at_a_time_and_boots_in_its_own_time() -> None:
    """Several loads of 30 % of what an app can do would be an overload, and lost 1,390 of 2,684 instead of none."""
    made = plan_of_shop(servers=("gunicorn-sync", "gunicorn-gthread"), events=("reload", "slow"))
    lines = [line for line in measurements(made, 1) if line.mode == "event"]
    assert len(lines) > 6 and len({line.unit for line in lines}) == len(lines)
    assert not [line.level for line in lines if "boot" in str(line.level)]
    causes = {(skip.event, str(skip.case)): skip.cause for skip in made.skips}
    assert causes["reload", "keep-alive, boot 5 s"] == "its boot time is its own"


def test_the_options_take_several_and_one_word_for_all() -> None:
    options = parse_selection(["--target", HERE, "--target", "http://server.example", OWNED])
    assert [(one.host, one.owned) for one in options.running] == [("127.0.0.1", False), ("server.example", True)]
    with pytest.raises(UserError, match="is not this machine"):
        parse_selection(["--target", "http://server.example"])
    with pytest.raises(UserError, match="needs --target URL"):
        parse_selection([OWNED])


def test_the_runs_files_name_it_and_ask_docker_for_nothing_of_it(tmp_path: Path) -> None:
    made = plan(HERE, stacks=("uvicorn-asgi",), scenarios=("json",))
    settings = resolve(read_settings({}), [0, 1])
    facts = run_facts("a-run", made, settings, 1, parse_selection([]))
    facts["services"] = service_facts(MATRIX, settings, made.services, routes_to_verify(made))
    lines = measurements(made, 1)
    write_run(tmp_path, MATRIX, made.services, lines, facts)
    services, _ = facts_of(read(tmp_path / RUN_JSON) or {})
    assert {name: service.url for name, service in services.items()} == {"uvicorn-asgi-py313-debian": "", NAME: HERE}
    assert NAME not in (tmp_path / "services.yml").read_text()
    entry = json.loads((tmp_path / "run.json").read_text())["services"][NAME]
    assert (entry["url"], entry["owned"], "image" in entry) == (HERE, False, False)


def test_a_line_of_the_plan_keeps_where_it_is_and_the_load_goes_there(tmp_path: Path) -> None:
    lines = [line for line in measurements(plan(f"{HERE}/x"), 1) if line.url]
    kept = planned_of(json.loads(lines[0].to_line()))
    assert kept == lines[0]
    assert host_step(Step((kept,))).host_network
    assert task_of(str(tmp_path), kept).load.url == f"{HERE}/x"
    (other,) = [line for line in measurements(plan(stacks=("aiohttp",)), 1) if line.mode == "solo"][:1]
    assert task_of(str(tmp_path), other).load.url == f"http://aiohttp-py313-debian:8080{other.exchange.path}"
    assert not {"url", "host_network"} & other.as_dict().keys()
    assert not host_step(Step((other,))).host_network

"""Servers that already run (--target): which may be loaded, and their place in a plan."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import make_plans
import pytest
from make_plans import HERE as PROJECT
from make_plans import MATRIX

from bench.cli.arguments import parse_selection
from bench.core.errors import UserError
from bench.drive.step_file import host_step, loads_of
from bench.matrix.settings import read_settings
from bench.own_app.app import OwnApp, with_own_app
from bench.own_app.targets import Target
from bench.plan.cells import Plan
from bench.plan.cpus import resolve
from bench.plan.make import make_plan
from bench.plan.measurement import Measurement, measurement_of
from bench.plan.order import measurements
from bench.plan.running import OWNED, parse_running
from bench.plan.selection import Selection
from bench.run.writer import routes_to_verify, run_facts, service_facts, write_run
from driver.messages import HOST, host_of, read

HERE = "http://127.0.0.1:8000"
NAME = "target-127.0.0.1-8000"


def plan(*urls: str, **wanted: Any) -> Plan:
    running = tuple(parse_running(url, owned=False) for url in urls)
    return make_plans.plan(running=running, **wanted)


@pytest.mark.parametrize(
    ("url", "origin", "name", "path"),
    [
        (HERE, HERE, NAME, ""),
        (f"{HERE}/", HERE, NAME, ""),
        (f"{HERE}/some/path?a=1", HERE, NAME, "/some/path?a=1"),
        ("http://localhost:8000/x", HERE, NAME, "/x"),
        ("http://127.5.6.7", "http://127.5.6.7:80", "target-127.5.6.7-80", ""),
        ("http://[::1]:8000/x", "http://[::1]:8000", "target-ipv6--1-8000", "/x"),
    ],
)
def test_a_server_on_this_machine(url: str, origin: str, name: str, path: str) -> None:
    found = parse_running(url, owned=False)
    assert (found.origin, found.name, found.path, found.owned) == (origin, name, path, False)
    # The flag alone does not make it another's.
    assert not parse_running(url, owned=True).owned


@pytest.mark.parametrize(
    "url",
    [
        "http://192.0.2.1:8000/",
        "http://0.0.0.0:8000/",
        "http://127.1:8000/",
        "http://[2001:db8::1]:8000/",
        "http://[::ffff:127.0.0.1]:8000/",
        "http://server.example/",
        "http://localhost.example/",
        "http://127.0.0.1.example/",
    ],
)
def test_any_other_address_needs_the_users_word(url: str) -> None:
    with pytest.raises(UserError, match=rf"is not this machine .* say so with {OWNED}\Z"):
        parse_running(url, owned=False)


def test_with_the_users_word_any_address_can_be_named_and_it_is_kept_that_it_was_given() -> None:
    found = parse_running("http://server.example/x", owned=True)
    assert (found.origin, found.owned) == ("http://server.example:80", True)
    assert found.service().owned


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://127.0.0.1/", "https is not measured"),
        ("127.0.0.1:8000", "give a URL such as http://127.0.0.1:8000/path"),
        ("/path", "give a URL"),
        ("http://me:secret@127.0.0.1/", "no credentials"),
        ("http://127.0.0.1/#part", "a fragment"),
        ("http://127.0.0.1/#", "a fragment"),
        ("http://127.0.0.1:0/", "port 0"),
        ("http://127.0.0.1:70000/", "is no URL"),
        ("http://127.0.0.1:x/", "is no URL"),
        ("http://[::1/", "is no URL"),
        ("http:///path", "is no host"),
        ("http://a b/", "is no host"),
        ("http://-x.example/", "is no host"),
        ("http://127.0.0.1/a b", "percent-encoded"),
        ("http://127.0.0.1/ü", "percent-encoded"),
    ],
)
def test_what_is_no_server_is_refused_in_one_line(url: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as refused:
        parse_running(url, owned=True)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_alone_it_is_measured_by_itself_with_the_null_server_as_the_tools_limit() -> None:
    made = plan(f"{HERE}/some/path")
    (cell,) = made.cells
    assert (cell.service.name, cell.scenario, cell.path, cell.tool) == (NAME, "get-some-path", "/some/path", "wrk")
    assert (made.tables, made.preset.name, made.solo_rounds, len(made.nulls)) == ((), "target", 3, 1)
    assert made.preset.title == f"{NAME}: get-some-path"
    lines = measurements(made, 1)
    assert {line.mode for line in lines} == {"solo", "null"}
    assert {(line.url, line.host_network) for line in lines} == {(HERE, True), (None, False)}
    assert plan(HERE, rounds=2, duration=2.0, tools=("hey",), levels=("64",)).solo_rounds == 2


def test_what_to_ask_may_be_scenarios_of_the_contract_and_then_no_path() -> None:
    assert {cell.path for cell in plan(HERE, scenarios=("json", "plaintext")).cells} == {"/json", "/plaintext"}
    with pytest.raises(UserError, match="beside services it is asked what they are asked; give http://127"):
        plan(f"{HERE}/x", scenarios=("json",))


def test_beside_services_it_is_one_more_row_of_their_tables_judged_by_requests() -> None:
    made = plan(HERE, stacks=("uvicorn-asgi", "aiohttp"), scenarios=("json",))
    (table,) = made.tables
    assert [cell.service.name for cell in table.cells][-1] == NAME
    assert table.waits
    assert table.turn_s == plan(stacks=("uvicorn-asgi", "aiohttp"), scenarios=("json",)).tables[0].turn_s
    assert not plan(stacks=("uvicorn-asgi", "aiohttp"), scenarios=("json",)).tables[0].waits
    assert made.preset.title == f"uvicorn-asgi, aiohttp and {NAME} (Python 3.13, debian): json"
    # One load generator for all of a table, whatever block a service is in.
    lines = [line for line in measurements(made, 1) if line.mode == "turns"]
    assert all(line.host_network for line in lines)
    assert {line.url for line in lines if line.service == NAME} == {HERE}
    assert {line.url for line in lines if line.service != NAME} == {None}
    with pytest.raises(UserError, match="asked what they are asked"):
        plan(f"{HERE}/x", stacks=("uvicorn-asgi", "aiohttp"))


def test_it_joins_loads_of_a_preset_that_name_their_stacks() -> None:
    names = {cell.service.name for table in plan(HERE, preset="quick").tables for cell in table.cells}
    assert NAME in names
    assert all(NAME in {cell.service.name for cell in table.cells} for table in plan(HERE, preset="quick").tables)


def test_several_that_are_asked_the_same_are_ranked_and_else_each_has_its_own_scenario() -> None:
    other = "http://127.0.0.1:8001"
    (table,) = plan(f"{HERE}/x", f"{other}/x").tables
    assert [cell.service.name for cell in table.cells] == [NAME, "target-127.0.0.1-8001"]
    apart = plan(f"{HERE}/a/b", f"{other}/a-b")
    assert apart.tables == ()
    found = {cell.service.name: (cell.scenario, cell.path) for cell in apart.cells}
    assert found == {NAME: ("get-a-b", "/a/b"), "target-127.0.0.1-8001": ("get-a-b-2", "/a-b")}
    with pytest.raises(UserError, match=r"127\.0\.0\.1-8000 is given twice"):
        plan(HERE, "http://localhost:8000/")


def test_by_ipv6_it_is_measured_alone_beside_the_table() -> None:
    made = plan("http://[::1]:8000", stacks=("uvicorn-asgi", "aiohttp"), scenarios=("json",))
    assert [cell.service.name for cell in made.alone] == ["target-ipv6--1-8000"]
    assert not made.tables[0].has_running


def test_beside_ones_own_app_it_is_asked_what_the_app_is_asked() -> None:
    targets = (Target("one", path="/1"), Target("two", "POST", "/2", body=b"{}"))
    app = OwnApp(
        name="shop", label="0", folder="/shop", app="a:b", interface="asgi", targets=targets, pythons=("3.13",)
    )
    wanted = Selection(running=(parse_running(HERE, owned=False),), frameworks=("shop",), servers=("uvicorn",))
    made = make_plan(replace(PROJECT, matrix=with_own_app(MATRIX, app)), wanted)
    lines = [line for line in measurements(made, 1) if line.service == NAME]
    assert {(line.scenario, line.requests, line.targets, line.url) for line in lines} == {
        ("mix", "app/load/mix", 2, HERE)
    }


def test_the_options_take_several_and_one_word_for_all(capsys: pytest.CaptureFixture[str]) -> None:
    options = parse_selection(["--target", HERE, "--target", "http://server.example", OWNED])
    assert [(one.host, one.owned) for one in options.running] == [("127.0.0.1", False), ("server.example", True)]
    with pytest.raises(UserError, match="is not this machine"):
        parse_selection(["--target", "http://server.example"])
    with pytest.raises(UserError, match="goes with --target URL"):
        parse_selection([OWNED])


def test_the_runs_files_name_it_and_ask_docker_for_nothing_of_it(tmp_path: Path) -> None:
    made = plan(HERE, stacks=("uvicorn-asgi",), scenarios=("json",))
    settings = resolve(read_settings({}), [0, 1])
    facts = run_facts("a-run", made, settings, 1, parse_selection([]))
    facts["services"] = service_facts(MATRIX, settings, made.services, routes_to_verify(made))
    lines = measurements(made, 1)
    write_run(tmp_path, MATRIX, made.services, lines, facts)
    host = host_of(read(tmp_path / HOST) or {})
    assert (host.containers, host.targets) == (("uvicorn-asgi-py313-debian",), (NAME,))
    assert host.services[NAME].url == HERE
    assert NAME not in (tmp_path / "services.yml").read_text()
    entry = json.loads((tmp_path / "run.json").read_text())["services"][NAME]
    assert (entry["url"], entry["owned"], "image" in entry) == (HERE, False, False)


def test_a_line_of_the_plan_keeps_where_it_is_and_the_load_goes_there(tmp_path: Path) -> None:
    lines = [line for line in measurements(plan(f"{HERE}/x"), 1) if line.url]
    kept = measurement_of(json.loads(lines[0].to_line()))
    assert kept == lines[0]
    assert isinstance(kept, Measurement)
    assert kept.reached_at(8080) == ("127.0.0.1", 8000)
    assert host_step([lines[0].as_dict()]).host_network
    assert loads_of(tmp_path, [lines[0].as_dict()], {}).loads["solo"].url == f"{HERE}/x"
    (other,) = [line for line in measurements(plan(stacks=("aiohttp",)), 1) if line.mode == "solo"][:1]
    assert other.reached_at(8080) == ("aiohttp-py313-debian", 8080)
    assert not {"url", "host_network"} & other.as_dict().keys()
    assert not host_step([other.as_dict()]).host_network

"""Selections become cells, and cells that cannot run are skipped with a cause."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from golden import cases, same_as
from make_plans import MATRIX, plan, told
from places import ROOT

from bench.cli.arguments import parse_selection
from bench.cli.plan import plan_of
from bench.core.errors import UserError
from bench.matrix.bases import local_images, reachable_bases
from bench.matrix.compose import compose_file
from bench.matrix.settings import read_settings
from bench.plan.events import EVENTS, cases_of, kinds_of
from bench.plan.measurement import read_measurement
from bench.plan.order import measurements
from bench.validity.run_rules import NoiseLimits, noise_limits_of

GOLDEN = Path(__file__).with_name("golden")

SELECTIONS: dict[str, dict[str, Any]] = {
    "without a selection, the quick preset": {},
    "the worker class chooses its gunicorn": {"settings": {"WORKER_CLASS": "gevent"}},
    # The comment on a pull request compares with the first one.
    "services are in the order of their selection": {"stacks": ("tornado", "aiohttp")},
    "also behind a glob": {"stacks": ("uvicorn-*", "aiohttp"), "frameworks": ("asgi", "aiohttp")},
    "two Pythons": {"stacks": ("aiohttp",), "pythons": ("3.13", "3.14")},
    "servers and the Pythons of a glob": {
        "frameworks": ("flask",),
        "servers": ("bjoern", "waitress"),
        "pythons": ("3.1[13]",),
    },
    "a filter narrows a preset": {"preset": "wsgi-asgi", "stacks": ("gunicorn-*",)},
    "a glob of scenarios": {"preset": "quick", "scenarios": ("*json",)},
    "scenarios, one of which the preset has not": {"preset": "quick", "scenarios": ("json", "delay-50")},
    "stacks, one of which it has not": {"preset": "quick", "stacks": ("aiohttp", "gunicorn-gevent-wsgi")},
    "a Python that it has not": {"preset": "quick", "stacks": ("aiohttp",), "pythons": ("3.14",)},
    "tools that no load has": {"stacks": ("aiohttp",), "tools": ("wrk", "hey")},
    "bases that cannot be reached": {"stacks": ("uvicorn-asgi",), "pythons": ("*",), "bases": ("*",)},
    "what a framework cannot do": {"stacks": ("proxy-py", "aiohttp"), "scenarios": ("db-raw",)},
    "what a tool cannot do": {
        "stacks": ("aiohttp",),
        "scenarios": ("echo",),
        "tools": ("wrk", "ab"),
        "levels": ("8",),
        "pythons": ("3.1*",),
    },
    "what cannot be loaded in turns is measured alone": {
        "stacks": ("aiohttp", "tornado"),
        "tools": ("wrk", "hey", "ab", "vegeta"),
        "levels": ("c8", "c8n80", "c8r50", "r50"),
    },
    "development servers behind a glob are left out": {"stacks": ("*-flask",), "servers": ("bjoern", "w*", "gevent-*")},
    "variants behind a glob are left out": {"stacks": ("aiohttp*",), "servers": ("aiohttp*",)},
    "a variant that is named": {"stacks": ("uwsgi-wsgi", "uwsgi-http-socket-wsgi")},
    "a development server that is named": {"stacks": ("bjoern-flask", "werkzeug-flask")},
    "another one, of several": {"frameworks": ("flask",), "servers": ("bjoern", "gevent-pywsgi")},
    "one service is no table": {"stacks": ("aiohttp",), "tools": ("wrk",)},
    "each service alone": {"stacks": ("aiohttp", "tornado"), "mode": "solo", "rounds": 2, "controls": "none"},
}
REFUSED: dict[str, dict[str, Any]] = {
    "a tool that cannot keep to a rate": {"stacks": ("aiohttp",), "tools": ("wrk",), "levels": ("r5",)},
    "a development server alone behind a glob": {"servers": ("werk*",)},
    "a package without a version": {"packages": ("aiohttp",)},
    "a share of a knee that is not searched": {"levels": ("knee50:p99=50ms",), "tools": ("vegeta",)},
}
PRESETS = {name: {"preset": name} for name in MATRIX.presets if name not in ("all", "quick", "bad-day-all")}


@pytest.mark.parametrize(("name", "wanted"), [("selections", SELECTIONS), ("refused", REFUSED), ("presets", PRESETS)])
def test_plans_of_selections(name: str, wanted: dict[str, dict[str, Any]]) -> None:
    found = {case: told(partial(plan, **one)) for case, one in wanted.items()}
    same_as(GOLDEN / f"{name}.txt", cases(found))


def test_without_a_preset_a_selection_is_of_the_whole_matrix() -> None:
    made = plan(frameworks=("flask",), pythons=("3.1[13]",))
    servers = [s.name for s in MATRIX.servers.values() if "wsgi" in s.serves and not (s.development or s.variant_of)]
    assert {s.name for s in made.services} == {
        f"{server}-flask-py{python}-debian" for server in servers for python in ("311", "313")
    }
    assert "others" in made.preset.title
    with pytest.raises(UserError, match="nothing matches"):
        plan(servers=("bjoern",), frameworks=("starlette",))


def test_connections_are_kept_alive_but_in_presets_that_say_otherwise() -> None:
    for preset, kept in (("sync-vs-gevent", False), ("quick", True)):
        assert {m.keepalive for m in measurements(plan(preset=preset), 1)} == {kept}


def test_a_level_closes_the_connections_of_its_table_its_common_rate_and_its_null_server() -> None:
    words = ["--stack", "aiohttp,tornado", "--scenario", "json", "--tool", "wrk", "--level", "c16close,16"]
    made = plan_of(parse_selection(words))[0]
    lines = measurements(made, 1)
    closed = {(one.mode, one.tool, str(one.level)) for one in lines if not one.keepalive}
    assert closed == {
        ("turns", "wrk", "c16close"),
        ("rate", "vegeta", "share50close"),
        ("null", "wrk", "c16close"),
        ("null", "vegeta", "r3000close"),
    }
    assert {(one.mode, str(one.level)) for one in lines if one.keepalive} == {("turns", "c16"), ("null", "c16")}


@pytest.mark.parametrize("preset", [name for name in MATRIX.presets if not name.startswith("selftest-")])
def test_every_preset_compares_its_services_in_turns(preset: str) -> None:
    made = plan(preset=preset)
    if made.preset.events:
        assert not made.tables and all(cell.event for cell in made.cells)
        return
    assert made.tables
    if MATRIX.presets[preset].published:
        # The load as published is also measured, with each service alone.
        assert made.alone and all(cell.alone for cell in made.alone)


def test_alpine_has_its_own_base_where_its_setting_names_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.matrix.bases.read_env", lambda _: {"LOCAL_PYTHON_IMAGE": "local"})
    images = tmp_path / "images"
    images.write_text("local:3.13-slim\nelsewhere:3.13-alpine\n")
    services = [s for s in MATRIX.services if s.stack == "aiohttp" and s.python == "3.13"]
    for image, bases in (("", ["debian"]), ("elsewhere", ["debian", "alpine"])):
        settings = {"PYTHON_IMAGE": "local", "ALPINE_PYTHON_IMAGE": image}
        reachable = reachable_bases(MATRIX, settings, local_images(str(images)))
        assert [s.base for s in services if reachable(s)] == bases
    text = compose_file(MATRIX)
    assert text.count("${ALPINE_PYTHON_IMAGE:-${LOCAL_PYTHON_IMAGE:-") == text.count("dockerfile: alpine.Dockerfile")


def test_a_search_takes_its_time_once() -> None:
    asked: dict[str, Any] = {"stacks": ("aiohttp", "tornado"), "tools": ("vegeta",), "rounds": 4, "controls": "none"}
    searched, fixed = (plan(**asked, levels=(level,)).total_seconds(0) for level in ("knee:p99=50ms", "r500"))
    assert searched - fixed == 40 * 2  # of two services


def test_a_level_gives_the_length_of_its_tables_turns() -> None:
    pair: dict[str, Any] = {"stacks": ("aiohttp", "tornado"), "scenarios": ("json",), "tools": ("wrk",)}
    short, long = plan(**pair, levels=("c16", "c16t800")).tables
    assert short.turn_s < 0.8 == long.turn_s
    # In each window, every service has a long turn and a short one.
    assert (short.load_s(1.0), long.load_s(1.0)) == (1.0, 1.6)
    for mode, stacks in (("solo", pair["stacks"]), ("turns", ("aiohttp",))):
        with pytest.raises(UserError, match="c16t1000 needs a table in turns"):
            plan(**pair | {"stacks": stacks}, levels=("c16", "c16t800"), mode=mode)


def test_the_gates_limits_are_what_the_gate_takes_without_them() -> None:
    assert noise_limits_of(read_settings({}, ROOT)) == NoiseLimits()


@pytest.mark.parametrize(
    ("option", "shares"), [([], ["share50"]), (["--no-latency"], []), (["--controls", "none"], [])]
)
def test_a_table_has_a_common_rate_where_the_null_server_tells_what_the_client_can_send(
    option: list[str], shares: list[str]
) -> None:
    words = ["--stack", "aiohttp,tornado", "--scenario", "json", "--tool", "wrk", "--level", "16"]
    (table,) = plan_of(parse_selection([*words, *option]))[0].tables
    assert [level.text for level in table.shares] == shares


def test_a_case_that_an_app_cannot_have_is_skipped_with_its_cause_and_the_others_are_measured() -> None:
    made = plan(events=("slow",), stacks=("aiohttp", "uvicorn-asgi", "proxy-py"), preset="bad-day")
    levels = {(cell.service.framework.name, cell.level.text) for cell in made.cells}
    reading = "slow-10-mb-read-a-kb-a-second"
    assert ("asgi", reading) in levels and ("aiohttp", reading) not in levels
    body = "slow-a-body-byte-a-second"
    assert ("aiohttp", body) in levels and ("proxy-py", body) not in levels
    causes = {(skip.service.partition("-py")[0], str(skip.case)): skip.cause for skip in made.skips if skip.event}
    assert causes["aiohttp", "10 MB read a KB a second"] == "aiohttp has no response of 10 MB"
    assert "cannot wait" in causes["proxy", "a body byte a second"]


def test_a_bad_day_of_every_server_has_every_event_in_ninety_minutes() -> None:
    cpus = {"SERVER_CPUS": "0", "LOADGEN_CPUS": "1"}
    every = plan(preset="bad-day-all", settings=cpus)
    servers = [name for name, server in MATRIX.servers.items() if not server.variant_of]
    assert sorted(service.server.name for service in every.services) == sorted(servers)
    assert {kind.cases[0].name for kind in kinds_of(every.preset.events)} == {*EVENTS}
    assert every.total_seconds() < 90 * 60


def test_a_whole_event_has_the_cases_and_rounds_of_the_bad_day_preset() -> None:
    def cases(*events: str, rounds: int | None = None) -> dict[str, int]:
        made = plan(events=events, stacks=("uvicorn-asgi",), rounds=rounds)
        return {cell.level.text: cell.event.most_rounds for cell in made.cells if cell.event}

    reload = ["reload-keep-alive", "reload-new-connections"]
    reload += [f"{one}-boot-5-s" for one in reload]
    assert cases("reload", "overload") == dict.fromkeys(reload, 0) | {"overload-20-s": 1}
    assert cases("overload", rounds=5) == {"overload-20-s": 0}
    assert cases("overload:2", rounds=5) == {"overload-20-s": 2}
    assert cases("reload-keep-alive-boot-2-s") == {"reload-keep-alive-boot-2-s": 0}
    assert len(cases("balance", "balance-new-connections-5-ms-of-cpu")) == 5


def test_the_title_of_events_names_them_and_no_scenario() -> None:
    selection = parse_selection(["--event", "stop,killed", "--stack", "uvicorn-asgi"])
    assert plan_of(selection)[0].preset.title == "uvicorn-asgi (Python 3.13, debian): stop and killed"


def test_an_event_may_have_fewer_rounds_than_the_run() -> None:
    made = plan(events=("stop", "memory-requests:1", "slow:2"), stacks=("uvicorn-asgi",), rounds=3)
    names = [[cell.level.text for cell in made.events_of(number)] for number in (1, 2, 3, 4)]
    slow = ["slow-silent", "slow-a-header-byte-a-second", "slow-a-body-byte-a-second", "slow-10-mb-read-a-kb-a-second"]
    assert [sorted(one) for one in names] == [
        sorted(["stop", *slow, "memory-requests"]),
        sorted(["stop", *slow]),
        ["stop"],
        [],
    ]
    assert not any(map(cases_of, ("slow:0", "slow:two", ":2")))


STREAMS = ("uvicorn-starlette", "uvicorn-asgi")


def test_what_no_tool_of_a_preset_speaks_is_loaded_by_the_one_that_does() -> None:
    made = plan(stacks=STREAMS, scenarios=("ws-echo-1k-deflate", "json"))
    tables = {table.first.scenario: table for table in made.tables}
    echo = tables["ws-echo-1k-deflate"].first
    assert {name: table.first.tool for name, table in tables.items()} == {"ws-echo-1k-deflate": "streams", "json": "wrk"}
    assert (echo.exchange.kind, echo.exchange.size, echo.exchange.deflate) == ("websocket", 1024, True)
    assert not tables["ws-echo-1k-deflate"].shares and {null.tool for null in made.nulls} == {"wrk", "vegeta"}
    assert [read_measurement(json.loads(line.to_line())) for line in measurements(made, 1)] == measurements(made, 1)


def test_a_tool_that_is_asked_for_by_name_is_not_replaced() -> None:
    with pytest.raises(UserError, match="wrk does not speak websocket over ws"):
        plan(stacks=STREAMS, scenarios=("ws-echo-16",), tools=("wrk",))


@pytest.mark.parametrize(
    ("scenario", "level", "path", "stopped", "seconds"),
    [
        ("sse-unpaced", "16", "/sse/1000/0", True, 1),
        ("sse-paced-20", "16", "/sse/200/20", False, 8),
        ("sse-tokens", "r4", "/sse/500/10", False, 10),
    ],
)
def test_a_stream_with_a_pace_of_its_own_is_loaded_side_by_side(
    scenario: str, level: str, path: str, stopped: bool, seconds: int
) -> None:
    made = plan(stacks=STREAMS, scenarios=(scenario,), levels=(level,))
    assert (len(made.tables), len(made.alone)) == (1, 0)
    lines = measurements(made, 1)
    assert {(line.exchange.path, line.mode) for line in lines} == {(path, "turns")}
    assert {(line.stopped, line.duration_s) for line in lines} == {(stopped, seconds)}

"""Selections become cells, and what cannot be run is skipped with its cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from make_plans import MATRIX, plan
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.bases import local_images, reachable_bases
from bench.matrix.compose import compose_file
from bench.matrix.settings import read_settings
from bench.plan.order import measurements
from bench.validity.run_rules import NoiseLimits, noise_limits_of


def cells(**wanted: Any) -> set[tuple[str, str, str, str]]:
    return {(c.service.name, c.scenario, c.tool, c.level.name) for c in plan(**wanted).cells}


def test_quick_is_the_default_two_tables_in_turns_and_one_cell_with_all_tools() -> None:
    made = plan()
    assert made.preset.name == "quick"
    assert [len(table.cells) for table in made.tables] == [8, 8]
    assert {table.first.route.waits for table in made.tables} == {True, False}
    assert {cell.tool for cell in made.alone} == {"wrk", "ab", "hey", "vegeta"}
    assert len({(cell.service.name, cell.scenario) for cell in made.alone}) == 1


def test_a_title_says_what_was_selected() -> None:
    assert plan().preset.title == MATRIX.presets["quick"].title
    two = plan(stacks=("aiohttp", "tornado"))
    assert two.preset.title == "aiohttp and tornado (Python 3.13, debian): json"
    pythons = plan(stacks=("aiohttp",), pythons=("3.13", "3.14"))
    assert pythons.preset.title == "aiohttp-py313-debian and aiohttp-py314-debian: json"
    assert "others" in plan(frameworks=("flask",)).preset.title


def test_a_selection_without_a_python_and_a_base_has_the_defaults() -> None:
    assert {(s.python, s.base) for s in plan(stacks=("aiohttp", "tornado")).services} == {("3.13", "debian")}
    assert len({s.python for s in plan(stacks=("aiohttp",), pythons=("*",)).services}) > 5


def test_the_worker_class_chooses_the_quick_presets_gunicorn() -> None:
    made = plan(settings={"WORKER_CLASS": "gevent"})
    assert "gunicorn-gevent-flask-py313-debian" in {s.name for s in made.services}
    assert "gunicorn-sync-flask-py313-debian" not in {s.name for s in made.services}


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("aiohttp-vs-gunicorn", {("aiohttp-py313-debian", "delay-20", "wrk", "c128")}),
        ("proxy-py", {("tornado-py313-debian", "http-route-example", "hey", "c100r8000")}),
        ("wsgi-asgi", {("gunicorn-sync-wsgi-py313-debian", "root", "vegeta", "r5000")}),
        ("sync-vs-gevent", {("gunicorn-gevent-flask-py313-debian", "create-data-1", "ab", "c16n1000")}),
        ("aiohttp-versions", {("aiohttp-3-13-5-py314-debian", "updates-20-orm", "wrk", "c256")}),
    ],
)  # fmt: skip
def test_presets_hold_the_originals_cells(preset: str, expected: set[tuple[str, str, str, str]]) -> None:
    assert expected <= cells(preset=preset)


def test_presets_keep_to_the_originals_groups() -> None:
    of_cherrypy = {c[2:] for c in cells(preset="wsgi-asgi") if c[0].startswith("cherrypy")}
    assert of_cherrypy == {("vegeta", "r2000"), ("wrk", "c16")}
    assert plan(preset="sync-vs-gevent").preset.workers == 4
    assert len(plan(preset="sync-vs-gevent").alone) == 2 * 3 * 3
    assert plan(preset="sync-vs-gevent").preset.rounds == 5
    assert not any(m.keepalive for m in measurements(plan(preset="sync-vs-gevent"), 1))
    assert all(m.keepalive for m in measurements(plan(preset="quick"), 1))


@pytest.mark.parametrize("preset", [name for name in MATRIX.presets if not name.startswith("selftest-")])
def test_every_preset_compares_its_services_in_turns(preset: str) -> None:
    made = plan(preset=preset)
    assert made.tables
    if MATRIX.presets[preset].published:
        # The load as published is measured too, each service alone.
        assert made.alone and all(cell.alone for cell in made.alone)


def test_a_filter_narrows_the_preset() -> None:
    assert cells(preset="wsgi-asgi", stacks=("gunicorn-*",)) == {
        ("gunicorn-sync-wsgi-py313-debian", "root", "wrk", "c16"),
        ("gunicorn-sync-wsgi-py313-debian", "root", "vegeta", "r20000"),
        ("gunicorn-sync-wsgi-py313-debian", "root", "vegeta", "r5000"),
    }
    assert {c[1] for c in cells(preset="quick", scenarios=("*json",))} == {"json"}
    assert {c[2] for c in cells(tools=("wrk", "hey"))} == {"wrk", "hey"}


def test_a_name_that_the_preset_does_not_hold_is_added_by_name() -> None:
    assert {c[1] for c in cells(preset="quick", scenarios=("json", "delay-50"))} == {"json", "delay-50"}
    assert {c[0] for c in cells(preset="quick", stacks=("aiohttp", "gunicorn-gevent-wsgi"))} == {
        "aiohttp-py313-debian",
        "gunicorn-gevent-wsgi-py313-debian",
    }
    assert {s.python for s in plan(preset="quick", pythons=("3.14",)).services} == {"3.14"}


def test_without_a_preset_a_selection_is_of_the_whole_matrix() -> None:
    made = plan(frameworks=("flask",), pythons=("3.1[13]",))
    servers = [s.name for s in MATRIX.servers.values() if "wsgi" in s.serves]
    assert {s.name for s in made.services} == {
        f"{server}-flask-py{python}-debian" for server in servers for python in ("311", "313")
    }


def test_bases_that_cannot_be_reached_are_skipped_with_that_cause() -> None:
    made = plan(stacks=("uvicorn-asgi",), pythons=("*",), bases=("*",))
    assert {s.base for s in made.services} == {"debian"}
    assert {(s.service, s.cause) for s in made.skips} == {
        (f"uvicorn-asgi-py{p}-alpine", "base image not reachable")
        for p in ("39", "310", "311", "312", "313", "314", "315")
    } | {
        ("uvicorn-asgi-pypy311-alpine", "there is no official image of PyPy on Alpine"),
        ("uvicorn-asgi-pypy311-debian", "asyncpg does not compile on PyPy"),
    }


def test_alpine_has_its_own_base_where_its_setting_names_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.matrix.bases.read_env", lambda _: {"LOCAL_PYTHON_IMAGE": "local"})
    images = tmp_path / "images"
    images.write_text("local:3.13-slim\nelsewhere:3.13-alpine\n")
    services = [s for s in MATRIX.services if s.stack == "aiohttp" and s.python == "3.13"]
    for image, bases in (("", ["debian"]), ("elsewhere", ["debian", "alpine"])):
        reachable = reachable_bases(
            MATRIX, {"PYTHON_IMAGE": "local", "ALPINE_PYTHON_IMAGE": image}, local_images(str(images))
        )
        assert [s.base for s in services if reachable(s)] == bases
    text = compose_file(MATRIX)
    assert text.count("${ALPINE_PYTHON_IMAGE:-${LOCAL_PYTHON_IMAGE:-") == text.count("dockerfile: alpine.Dockerfile")


def test_what_a_framework_or_tool_cannot_do_is_skipped_with_its_reason() -> None:
    made = plan(stacks=("proxy-py", "aiohttp"), scenarios=("db-raw",), pythons=("3.13",), bases=("debian",))
    reason = MATRIX.frameworks["proxy-py"].lacks["*"]
    assert [(s.service, s.cause) for s in made.skips] == [("proxy-py-py313-debian", f"proxy-py: {reason}")]
    made = plan(
        stacks=("aiohttp",),
        scenarios=("echo",),
        tools=("wrk", "ab"),
        levels=("8",),
        pythons=("3.1*",),
        bases=("debian",),
    )
    assert {s.cause for s in made.skips} == {"wrk cannot send a body without a Lua script"}
    assert {c.tool for c in made.cells} == {"ab"}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"preset": "nope"}, "unknown preset 'nope'; there are: quick"),
        ({"stacks": ("flask",)}, "unknown stack 'flask'"),
        ({"servers": ("iis",)}, "unknown server 'iis'"),
        ({"frameworks": ("rails",)}, "unknown framework 'rails'"),
        ({"pythons": ("2.7",)}, "unknown Python '2.7'"),
        ({"bases": ("suse",)}, "unknown base 'suse'"),
        ({"tools": ("curl",)}, "unknown tool 'curl'"),
        ({"scenarios": ("nope",)}, "unknown scenario 'nope'"),
        ({"levels": ("many",)}, "is not a level"),
        ({"tools": ("wrk",), "levels": ("r5",)}, "nothing matches"),
        ({"servers": ("bjoern",), "frameworks": ("starlette",)}, "nothing matches"),
        ({"duration": 0.5}, "whole seconds"),
        ({"duration": float("nan")}, "whole seconds"),
        ({"rounds": 0}, "1 to 99"),
        ({"packages": ("aiohttp",)}, "NAME==VERSION"),
    ],
)
def test_user_errors_are_one_line(wanted: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        plan(**wanted)
    assert "\n" not in str(caught.value)


def test_a_search_takes_its_time_once() -> None:
    asked: dict[str, Any] = {"stacks": ("aiohttp", "tornado"), "tools": ("vegeta",), "rounds": 4}
    searched, fixed = (plan(**asked, levels=(level,)).total_seconds(0) for level in ("knee:p99=50ms", "r500"))
    assert searched - fixed == 60 * 2  # of two services


def test_the_gates_limits_are_what_the_gate_takes_without_them() -> None:
    assert noise_limits_of(read_settings({}, ROOT)) == NoiseLimits()


def test_services_are_in_the_order_of_their_selection() -> None:
    """The first one is what a pull request's comment compares with."""
    for stacks in (("tornado", "aiohttp"), ("aiohttp", "tornado")):
        (table,) = plan(stacks=stacks).tables
        assert [cell.service.stack for cell in table.cells] == [*stacks]
    (table,) = plan(stacks=("uvicorn-*", "aiohttp"), frameworks=("asgi", "aiohttp")).tables
    assert [cell.service.stack for cell in table.cells][-1] == "aiohttp"


@pytest.mark.parametrize("mode", ["duet", "both"])
def test_a_mode_that_is_gone_says_what_to_use(mode: str) -> None:
    with pytest.raises(UserError, match=rf"--mode {mode} is gone: .*--stack A,B.* in turns"):
        plan(mode=mode)


def test_an_unknown_mode_is_a_user_error() -> None:
    with pytest.raises(UserError, match="mode 'duo'"):
        plan(mode="duo")

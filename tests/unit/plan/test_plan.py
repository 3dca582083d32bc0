"""Selections become cells, and cells rounds in random order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.bases import reachable_bases
from bench.matrix.compose import compose_file
from bench.matrix.load import load_matrix
from bench.matrix.settings import read_settings
from bench.plan.cells import Plan
from bench.plan.cpus import choose, cores, resolve
from bench.plan.levels import parse_level, refusal
from bench.plan.make import make_plan
from bench.plan.order import measurements
from bench.plan.selection import Selection
from bench.validity.run_rules import NoiseLimits, noise_limits_of

MATRIX = load_matrix(ROOT / "services/matrix.toml")


def plan(reachable: Any = lambda service: service.base == "debian", **wanted: Any) -> Plan:
    return make_plan(MATRIX, Selection(**wanted), {"WORKER_CLASS": "sync"}, reachable)


def cells(**wanted: Any) -> set[tuple[str, str, str, str]]:
    return {(c.service.name, c.scenario, c.tool, c.level.name) for c in plan(**wanted).cells}


def test_quick_is_the_default_and_has_every_tool_on_every_cell() -> None:
    made = plan()
    assert made.preset.name == "quick"
    assert len(made.cells) == 8 * 3 * 4
    assert len(made.services) == 8


def test_the_worker_class_chooses_the_quick_presets_gunicorn() -> None:
    made = make_plan(MATRIX, Selection(), {"WORKER_CLASS": "gevent"}, lambda _: True)
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
    assert not {c for c in cells(preset="wsgi-asgi") if c[0].startswith("cherrypy") and c[3] != "r2000"}
    assert plan(preset="sync-vs-gevent").preset.workers == 4
    assert len(cells(preset="sync-vs-gevent")) == 2 * 3 * 3
    assert plan(preset="sync-vs-gevent").preset.rounds == 5
    assert not any(m["keepalive"] for m in measurements(plan(preset="sync-vs-gevent"), 1))
    assert all(m["keepalive"] for m in measurements(plan(preset="quick"), 1))


def test_a_filter_narrows_the_preset() -> None:
    assert cells(preset="wsgi-asgi", stacks=("gunicorn-*",)) == {
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
    made = plan(stacks=("uvicorn-asgi",))
    assert {s.base for s in made.services} == {"debian"}
    assert {(s.service, s.cause) for s in made.skips} == {
        (f"uvicorn-asgi-py{p}-alpine", "base image not reachable")
        for p in ("39", "310", "311", "312", "313", "314", "315")
    } | {
        ("uvicorn-asgi-pypy311-alpine", "there is no official image of PyPy on Alpine"),
        ("uvicorn-asgi-pypy311-debian", "asyncpg does not compile on PyPy"),
    }


def test_alpine_has_a_base_of_its_own_where_its_knob_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.matrix.bases.read_env", lambda _: {"LOCAL_PYTHON_IMAGE": "local"})
    images = tmp_path / "images"
    images.write_text("local:3.13-slim\nelsewhere:3.13-alpine\n")
    services = [s for s in MATRIX.services if s.stack == "aiohttp" and s.python == "3.13"]
    for knob, bases in (("", ["debian"]), ("elsewhere", ["debian", "alpine"])):
        reachable = reachable_bases(MATRIX, {"PYTHON_IMAGE": "local", "ALPINE_PYTHON_IMAGE": knob}, str(images))
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
    assert {s.cause for s in made.skips} == {"wrk sends a body only with a Lua script"}
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
        ({"levels": ("many",)}, "is no number"),
        ({"tools": ("wrk",), "levels": ("r5",)}, "nothing matches"),
        ({"servers": ("bjoern",), "frameworks": ("starlette",)}, "nothing matches"),
        ({"duration": 0.5}, "whole seconds"),
        ({"duration": float("nan")}, "whole seconds"),
        ({"rounds": 0}, "1 to 99"),
        ({"packages": ("aiohttp",)}, "NAME==VERSION"),
    ],
)
def test_the_users_faults_are_one_line(wanted: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        plan(**wanted)
    assert "\n" not in str(caught.value)


def test_rounds_hold_every_cell_once_in_an_order_that_the_seed_decides() -> None:
    made = plan(preset="quick", rounds=3, tools=("wrk",), controls="none")
    first, second = measurements(made, 1), measurements(made, 2)
    assert first == measurements(made, 1)
    assert [m["dir"] for m in first] != [m["dir"] for m in second]
    assert len({m["id"] for m in first}) == len(first) == 3 * 24
    orders = [[m["service"] + m["scenario"] for m in first if m["round"] == n] for n in (1, 2, 3)]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1] != orders[2]


@pytest.mark.parametrize(
    ("text", "name", "connections", "count", "rate"),
    [
        ("64", "c64", 64, None, None),
        ("c64", "c64", 64, None, None),
        ("064", "c64", 64, None, None),
        ("c16n1000", "c16n1000", 16, 1000, None),
        ("c100r8000", "c100r8000", 100, None, 8000),
        ("r500", "r500", None, None, 500),
    ],
)
def test_levels(text: str, name: str, connections: int | None, count: int | None, rate: int | None) -> None:
    level = parse_level(text)
    assert (level.name, level.connections, level.count, level.rate) == (name, connections, count, rate)


@pytest.mark.parametrize(
    ("text", "name", "limit_s", "share"),
    [
        ("knee:p99=50ms", "knee-p99-50ms", 0.05, None),
        ("knee-p99-50ms", "knee-p99-50ms", 0.05, None),
        ("knee:p99=2000ms", "knee-p99-2000ms", 2.0, None),
        ("knee70:p99=8ms", "knee70-p99-8ms", 0.008, 0.7),
    ],
)
def test_levels_that_search_a_knee(text: str, name: str, limit_s: float, share: float | None) -> None:
    level = parse_level(text)
    assert (level.name, level.knee_p99_s, level.knee_share, level.open_loop) == (name, limit_s, share, True)
    assert refusal("vegeta", level, "GET") is None and refusal("wrk", level, "GET")


@pytest.mark.parametrize(
    "text",
    ["knee", "knee:p99=0ms", "knee:p99=2001ms", "knee:p95=50ms", "knee:p99=50", "knee100:p99=50ms", "kneep99=5ms"],
)
def test_knees_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match="give knee:p99=50ms"):
        parse_level(text)


def test_a_share_of_a_knee_comes_after_it_in_the_first_round_and_not_without_it() -> None:
    wanted = ("knee50:p99=50ms", "knee:p99=50ms")
    made = plan(preset="quick", scenarios=("json",), tools=("vegeta",), rounds=2, levels=wanted)
    lines = measurements(made, 1)
    shares = [line["knee_share"] for line in lines if line["round"] == 1]
    assert shares == [None] * 8 + [0.5] * 8
    assert [line["knee_share"] for line in lines if line["round"] == 2] != shares
    assert {(line["rate"], line["knee_p99_s"]) for line in lines} == {(None, 0.05)}
    with pytest.raises(UserError, match="knee-p99-50ms, which is not asked"):
        plan(preset="quick", levels=wanted[:1], tools=("vegeta",))


def test_a_search_takes_its_time_once() -> None:
    asked: dict[str, Any] = {"preset": "quick", "tools": ("vegeta",), "rounds": 4}
    searched, fixed = (plan(**asked, levels=(level,)).total_seconds(0) for level in ("knee:p99=50ms", "r500"))
    assert searched - fixed == 60 * 8 * 3


@pytest.mark.parametrize("text", ["", "0", "c0", "n5", "n5r5", "-1", "6.5", "٦٤", "c64x", "r", "c1 2", "1e3", "r٥"])
def test_levels_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match="is no number"):
        parse_level(text)


def test_no_tool_is_asked_for_what_it_cannot_send() -> None:
    assert refusal("vegeta", parse_level("64"), "GET")
    assert refusal("wrk", parse_level("r5"), "GET")
    assert refusal("wrk", parse_level("c8n80"), "GET")
    assert refusal("wrk", parse_level("8"), "POST")
    assert refusal("ab", parse_level("c8r80"), "GET")
    for tool, level in (("vegeta", "r5"), ("wrk", "8"), ("ab", "c8n80"), ("hey", "c8r80"), ("hey", "c8n80")):
        assert refusal(tool, parse_level(level), "GET") is None


def test_threads_always_divide_the_connections() -> None:
    made = make_plan(MATRIX, Selection(levels=("6", "7", "64")), {"WORKER_CLASS": "sync"}, lambda _: True, 4)
    for line in measurements(made, 1):
        if line["connections"]:
            assert line["connections"] % line["threads"] == 0
            assert 1 <= line["threads"] <= 4


@pytest.mark.parametrize(
    ("count", "server", "loadgen", "database"),
    [(1, "0", "0", "0"), (2, "0", "1", "1"), (3, "0", "1", "2"), (4, "0,1", "2", "3"), (8, "0,1,2,3", "4,5", "6,7")],
)
def test_cpus_never_overlap_where_there_are_enough(count: int, server: str, loadgen: str, database: str) -> None:
    chosen = choose([[n] for n in range(count)])
    assert list(chosen.values()) == [server, loadgen, database]


def test_hyper_threads_of_one_core_stay_together(tmp_path: Path) -> None:
    for cpu in range(8):
        folder = tmp_path / f"cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    groups = cores(range(8), tmp_path)
    assert groups == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert choose(groups)["LOADGEN_CPUS"] == "2,6"


def test_a_cpu_that_is_not_there_is_named() -> None:
    knobs = {"SERVER_CPUS": "7", "LOADGEN_CPUS": "", "DATABASE_CPUS": ""}
    with pytest.raises(UserError, match="SERVER_CPUS=7"):
        resolve(knobs, [0, 1])
    assert resolve(knobs | {"SERVER_CPUS": "0-1"}, [0, 1])["SERVER_CPUS"] == "0-1"


def test_the_scenarios_whose_answers_need_the_database_say_so() -> None:
    made = plan(scenarios=("json", "simple-request-0", "db-raw", "queries-20-orm", "create-data-1"), tools=("wrk",))
    asks = {line["scenario"]: line["database"] for line in measurements(made, 1) if line["service"] != "null"}
    needed = {"db-raw": True, "queries-20-orm": True, "create-data-1": True}
    assert asks == {"json": False, "simple-request-0": False} | needed
    assert {r.name for r in MATRIX.routes.values() if r.database} == {
        name for name, route in MATRIX.routes.items() if route.path.startswith(("/raw/", "/orm/", "/create_data/"))
    }


def test_the_gates_limits_are_what_the_gate_takes_without_them() -> None:
    assert noise_limits_of(read_settings({}, ROOT)) == NoiseLimits()


def test_every_round_has_an_a_a_pair_and_the_null_server_for_each_closed_loop() -> None:
    made = plan(preset="quick", rounds=2)
    lines = measurements(made, 1)
    for number in (1, 2):
        here = [m for m in lines if m["round"] == number]
        nulls = [m for m in here if m.get("mode") == "null"]
        assert sorted(m["tool"] for m in nulls) == ["ab", "hey", "wrk"]
        assert {m["service"] for m in nulls} == {"null"}
        assert {m["scenario"] for m in nulls} <= {"json", "plaintext"}
        (unit,) = {m["unit"] for m in here if m.get("mode") == "duet"}
        sides = [m for m in here if m.get("unit") == unit]
        assert sorted((m["window"], m["side"]) for m in sides) == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
        assert len({m["service"] for m in sides}) == 1
    assert len({m["dir"] for m in lines}) == len({m["id"] for m in lines}) == len(lines)


def test_where_one_service_has_a_second_container_the_a_a_pair_is_its() -> None:
    twin, starlette = "uvicorn-asgi-py313-debian", "uvicorn-starlette-py313-debian"
    assert {pair.a.service.name for pair in plan(preset="quick", twin=starlette).pairs} == {starlette}
    assert {pair.a.service.name for pair in plan(preset="quick").pairs} == {twin}
    assert plan(preset="quick", stacks=("uvicorn-starlette",), twin=twin).pairs == ()


def test_where_the_presets_twin_is_left_out_the_first_service_is_beside_itself() -> None:
    for stacks, first in (
        (("tornado",), "tornado"),
        (("tornado", "bjoern-wsgi"), "bjoern-wsgi"),
        (("bjoern-wsgi", "uvicorn-asgi"), "uvicorn-asgi"),
    ):
        assert {pair.a.service.stack for pair in plan(preset="quick", stacks=stacks).pairs} == {first}


def test_a_duet_compares_each_cell_with_the_first_of_its_table() -> None:
    made = plan(
        stacks=("aiohttp", "uvicorn-asgi", "tornado"),
        pythons=("3.13",),
        bases=("debian",),
        scenarios=("json", "delay-20"),
        tools=("wrk", "vegeta"),
        levels=("64", "r500"),
        mode="duet",
    )
    compared = [p for p in made.pairs if not p.control]
    # An open loop and a load by count have no pairs; the first service of the matrix's order is the baseline.
    assert [(p.a.scenario, p.a.tool, p.a.level.name) for p in compared] == [
        ("json", "wrk", "c64"),
        ("json", "wrk", "c64"),
        ("delay-20", "wrk", "c64"),
        ("delay-20", "wrk", "c64"),
    ]
    assert len({p.a.service.name for p in compared}) == 1
    assert {p.a.route.waits for p in made.pairs if p.control} == {True, False}
    assert made.solo_rounds == 0
    assert made.rounds == 30
    lines = measurements(made, 1)
    assert not [m for m in lines if m.get("mode", "solo") == "solo"]
    first = {m["side"] for m in lines if m.get("pair") == "p001" and m["slot"] == 1}
    assert first == {"a", "b"}, "the slot is random"


def test_an_unknown_mode_is_the_users_fault() -> None:
    with pytest.raises(UserError, match="mode 'duo'"):
        plan(mode="duo")

"""The app of known behaviour does what it is asked, and is nowhere that nobody named it."""

from __future__ import annotations

import asyncio
import runpy
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.catalogue import tables
from bench.matrix.compose import bench_file, compose_file, run_services
from bench.matrix.load import load_matrix
from bench.matrix.locks import needs
from bench.plan.cells import Plan
from bench.plan.make import make_plan
from bench.plan.selection import Selection

MATRIX = load_matrix(ROOT / "services/matrix.toml")
NAME = "uvicorn-synthetic-py313-debian"


@pytest.fixture(scope="module")
def app() -> Iterator[dict[str, Any]]:
    sys.path.insert(0, str(ROOT / "services"))
    yield runpy.run_path(str(ROOT / "services/frameworks/synthetic/app.py"))
    sys.path.remove(str(ROOT / "services"))


def ask(app: dict[str, Any], path: str, query: str = "", method: str = "GET") -> tuple[int, bytes]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "query_string": query.encode(), "method": method}
    asyncio.run(app["app"](scope, None, send))
    assert dict(sent[0]["headers"])[b"content-length"] == str(len(sent[1]["body"])).encode()
    return sent[0]["status"], sent[1]["body"]


def waits(app: dict[str, Any], query: str, times: list[float]) -> list[float]:
    asked = app["Behaviour"](query)
    return [asked.wait_s(asked.next(), now) for now in times]


def test_shares_of_waits_are_exact_over_any_stretch(app: dict[str, Any]) -> None:
    found = [round(1000 * wait) for wait in waits(app, "sleep=1:98,50:2", [0.0] * 10_000)]
    assert set(found) == {1, 50}
    for begin in range(0, 10_000, 1000):
        assert abs(found[begin : begin + 1000].count(50) - 20) <= 2


def test_a_stall_holds_all_that_come_in_it_until_its_end(app: dict[str, Any]) -> None:
    times = [20.0, 20.25, 20.999, 21.0, 29.999]
    assert waits(app, "stall=1000:10000", times) == pytest.approx([1.0, 0.75, 0.001, 0.0, 0.0])


def test_a_wait_that_ends_in_a_stall_ends_with_it(app: dict[str, Any]) -> None:
    assert waits(app, "stall=1000:10000&sleep=500:1", [29.75]) == pytest.approx([1.25])


def test_capacity_is_a_queue_of_one(app: dict[str, Any]) -> None:
    assert waits(app, "capacity=10", [5.0, 5.0, 5.0, 9.0]) == pytest.approx([0.1, 0.2, 0.3, 0.1])


def test_one_worker_hangs_with_every_other_request(
    app: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first, hanging = waits(app, "hang=500", [0.0] * 4), app["is_the_hanging_worker"]
    assert first == [0.5, 0.0, 0.5, 0.0]
    # Another process of the container asks later.
    hanging.cache_clear()
    assert waits(app, "hang=500", [0.0] * 4) == [0.0] * 4


def test_a_share_of_errors(app: dict[str, Any]) -> None:
    asked = app["Behaviour"]("errors=30")
    assert abs(sum(asked.fails(asked.next()) for _ in range(1000)) - 300) <= 2
    statuses = [ask(app, "/synthetic", "errors=30")[0] for _ in range(100)]
    assert set(statuses) == {200, 500}
    assert abs(statuses.count(500) - 30) <= 2


@pytest.mark.parametrize("asked_us", [2000, 20_000])
def test_busy_is_cpu_time_of_the_thread(asked_us: int, app: dict[str, Any]) -> None:
    before = time.thread_time()
    app["burn"](1000 * asked_us)
    assert time.thread_time() - before >= asked_us / 1e6


def test_the_basic_routes_are_the_contracts(app: dict[str, Any]) -> None:
    assert ask(app, "/json") == (200, b'{"message":"Hello, World!"}')
    assert ask(app, "/plaintext") == (200, b"Hello, World!")
    assert ask(app, "/", "duration=1") == (200, b'{"duration":1}')
    assert [ask(app, "/nope")[0], ask(app, "/json", method="POST")[0]] == [404, 405]


@pytest.mark.parametrize("query", ["busy_us=x", "sleep=1", "nothing=1", "capacity=0", "stall=5", "a"])
def test_a_query_that_is_none_is_a_400_and_no_500(query: str, app: dict[str, Any]) -> None:
    assert ask(app, "/synthetic", query)[0] == 400


def plan(**wanted: Any) -> Plan:
    return make_plan(MATRIX, Selection(**wanted), {"WORKER_CLASS": "sync"}, lambda service: service.base == "debian")


def test_it_is_in_no_list_of_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert {framework.folder for framework in MATRIX.selftests.values()} == {"synthetic"}
    assert "synthetic" not in MATRIX.frameworks
    for text in (compose_file(MATRIX), bench_file(MATRIX), tables(MATRIX)):
        assert "synthetic" not in text
    for preset in (None, "all", "quick"):
        chosen = plan(preset=preset, stacks=("*",)) if preset != "quick" else plan()
        assert not [s.name for s in chosen.services if "synthetic" in s.name]


@pytest.mark.parametrize("wanted", [{"stacks": ("*synthetic",)}, {"frameworks": ("synth*",)}])
def test_no_glob_selects_it(wanted: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="unknown"):
        plan(**wanted)


def test_its_exact_name_selects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    made = plan(stacks=("uvicorn-synthetic",), scenarios=("busy-100", "mix"))
    assert [(c.service.name, c.path) for c in made.cells] == [
        (NAME, "/synthetic?busy_us=100"),
        (NAME, "/synthetic?sleep=1:98,50:2"),
    ]
    both = plan(stacks=("uvicorn-synthetic", "aiohttp"), pythons=("3.13",), scenarios=("json",))
    assert {s.name for s in both.services} == {NAME, "aiohttp-py313-debian"}
    servers = {s.server.name for s in plan(frameworks=("synthetic",)).services}
    assert servers == {server.name for server in MATRIX.servers.values() if "asgi" in server.serves}
    assert f"\n  {NAME}:\n" in run_services(MATRIX, made.services)


def test_a_variant_is_the_same_app_with_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    made = plan(stacks=("uvicorn-synthetic", "uvicorn-synthetic-slower-40us"), scenarios=("busy-1000",))
    assert [c.service.stack for c in made.cells] == ["uvicorn-synthetic", "uvicorn-synthetic-slower-40us"]
    plain, slower = (run_services(MATRIX, [service]) for service in made.services)
    assert '"FRAMEWORK": "synthetic"' in plain
    assert '"FRAMEWORK": "synthetic"' in slower
    assert "environment" not in plain
    assert '    environment: {"SLOWER_US": "40"}\n' in slower
    assert "synthetic-slower-40us" not in needs(MATRIX, "3.13")[1]


@pytest.mark.parametrize(("slower_us", "busy_ns"), [("0", 1_000_000), ("12", 1_012_000), ("40", 1_040_000)])
def test_slower_is_so_much_more_cpu(slower_us: str, busy_ns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWER_US", slower_us)
    monkeypatch.syspath_prepend(str(ROOT / "services"))
    slower = runpy.run_path(str(ROOT / "services/frameworks/synthetic/app.py"))
    assert slower["Behaviour"]("busy_us=1000").busy_ns == busy_ns
    assert slower["Behaviour"]("sleep=1:1").busy_ns == 0


def test_no_other_app_is_asked_for_its_routes() -> None:
    with pytest.raises(UserError, match="only self-test apps have it"):
        plan(stacks=("aiohttp",), scenarios=("mix",))
    with pytest.raises(UserError, match="it is for self-tests"):
        plan(stacks=("uvicorn-synthetic",), scenarios=("db-raw",))


def test_its_requirements_are_locked_on_the_default_python_alone() -> None:
    assert "synthetic" in needs(MATRIX, "3.13")[1]
    assert "synthetic" not in needs(MATRIX, "3.12")[1]

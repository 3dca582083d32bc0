"""The app with known behaviour does what it is asked to, and is only selected by name."""

from __future__ import annotations

import asyncio
import runpy
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from captured import refused
from make_plans import MATRIX, plan
from places import ROOT

from bench.core.errors import UserError
from bench.matrix.catalogue import catalogue_file
from bench.matrix.compose import bench_file, compose_file, run_services
from bench.matrix.locks import needs

NAME = "uvicorn-synthetic-py313-debian"


@pytest.fixture(scope="module")
def app() -> Iterator[dict[str, Any]]:
    sys.path.insert(0, str(ROOT / "services"))
    yield runpy.run_path(str(ROOT / "services/frameworks/synthetic/app.py"))
    sys.path.remove(str(ROOT / "services"))


def sent(app: dict[str, Any], path: str, query: str, method: str = "GET") -> list[tuple[float, Any]]:
    """The two messages of a response, and when they were sent."""
    messages: list[tuple[float, Any]] = []

    async def send(message: Any) -> None:
        messages.append((time.monotonic(), message))

    scope = {"type": "http", "path": path, "query_string": query.encode(), "method": method}
    asyncio.run(app["app"](scope, None, send))
    return messages


def ask(app: dict[str, Any], path: str, query: str = "", method: str = "GET") -> tuple[int, bytes]:
    (_, head), (_, body) = sent(app, path, query, method)
    assert dict(head["headers"])[b"content-length"] == str(len(body["body"])).encode()
    return head["status"], body["body"]


def waits(app: dict[str, Any], query: str, times: list[float]) -> list[float]:
    asked = app["Behaviour"](query)
    return [asked.wait_s(asked.next(), now) for now in times]


def pushed(app: dict[str, Any], path: str, query: str, *received: Any) -> tuple[list[Any], float]:
    """The messages of a WebSocket or stream, and the CPU time of this thread in ms."""
    messages: list[Any] = []
    left = [*received]

    async def receive() -> Any:
        return left.pop(0)

    async def send(message: Any) -> None:
        messages.append(message)

    began = time.thread_time_ns()
    asyncio.run(app["app"]({"type": "any", "path": path, "query_string": query.encode()}, receive, send))
    return messages, (time.thread_time_ns() - began) / 1e6


def test_each_message_comes_back_and_takes_the_time_that_is_asked_for(app: dict[str, Any]) -> None:
    said = [{"type": "websocket.receive", "text": str(number)} for number in range(20)]
    opened, closed = {"type": "websocket.connect"}, {"type": "websocket.disconnect"}
    (first, *answers), took_ms = pushed(app, "/ws/synthetic", "busy_us=1000", opened, *said, closed)
    assert first == {"type": "websocket.accept"} and took_ms >= 20
    assert answers == [{"type": "websocket.send", "text": str(number)} for number in range(20)]


def test_each_event_takes_the_time_that_is_asked_for(app: dict[str, Any]) -> None:
    (head, *events, last), took_ms = pushed(app, "/sse/synthetic", "busy_us=20")
    assert (b"content-type", b"text/event-stream") in head["headers"] and not last.get("more_body")
    assert len(events) == 1000 and all(event["more_body"] for event in events) and took_ms >= 20
    assert events[999]["body"] == b'data: {"n":999,"token":" benchmark"}\n\n'


def test_shares_of_waits_are_exact_over_any_stretch(app: dict[str, Any]) -> None:
    found = [round(1000 * wait) for wait in waits(app, "sleep=1:98,50:2", [0.0] * 10_000)]
    assert set(found) == {1, 50}
    for begin in range(0, 10_000, 1000):
        assert abs(found[begin : begin + 1000].count(50) - 20) <= 2


HELD_BACK = [
    # A stall holds all requests that arrive in it until its end, and a wait that would end in a stall ends with it.
    ("stall=1000:10000", [20.0, 20.25, 20.999, 21.0, 29.999], [1.0, 0.75, 0.001, 0.0, 0.0]),
    ("stall=1000:10000&sleep=500:1", [29.75], [1.25]),
    # Capacity is a queue of one.
    ("capacity=10", [5.0, 5.0, 5.0, 9.0], [0.1, 0.2, 0.3, 0.1]),
    # A group is answered when its last response is due; after an empty queue, a new group begins.
    ("capacity=10&group=3", [5.0, 5.0, 5.0, 5.0, 9.0, 9.05], [0.3, 0.3, 0.3, 0.6, 0.3, 0.25]),
]


@pytest.mark.parametrize(("query", "times", "found"), HELD_BACK)
def test_what_holds_answers_back(app: dict[str, Any], query: str, times: list[float], found: list[float]) -> None:
    assert waits(app, query, times) == pytest.approx(found)


def test_groups_are_of_the_same_rate_as_one_by_one(app: dict[str, Any]) -> None:
    """Connections for two groups, which send again as soon as they are answered: the queue is never empty."""

    def served(query: str, until: float = 10.0) -> int:
        asked, answers, answered = app["Behaviour"](query), [0.0] * 16, 0
        while (now := min(answers)) < until:
            answers[answers.index(now)] = now + 0.001 + asked.wait_s(0.0, now + 0.001)
            answered += 1
        return answered

    single, grouped = served("capacity=800"), served("capacity=800&group=8")
    assert single == pytest.approx(8000, rel=0.005) and grouped == pytest.approx(single, rel=0.005)


@pytest.mark.parametrize("query", ["at_least=20", "alone=20", "body=20", "capacity=50"])
def test_what_limits_the_rate_never_ends_early(query: str, app: dict[str, Any]) -> None:
    for _ in range(5):
        began = time.monotonic()
        assert ask(app, "/synthetic", query)[0] == 200 and time.monotonic() - began >= 0.020


def test_an_exact_wait_is_neither_shorter_nor_much_longer(app: dict[str, Any]) -> None:
    took = []
    for _ in range(50):
        began = time.monotonic()
        assert ask(app, "/synthetic", "exact=0.2:100")[0] == 200
        took.append(time.monotonic() - began)
    # The shortest, since other processes may take the CPU, and with the call itself.
    assert 0.0002 <= min(took) < 0.0015


def test_the_head_comes_before_a_late_body(app: dict[str, Any]) -> None:
    (begun_s, head), (ended_s, body) = sent(app, "/synthetic", "body=30")
    assert (head["type"], body["type"]) == ("http.response.start", "http.response.body")
    assert ended_s - begun_s >= 0.030


def test_alone_is_one_after_the_other(app: dict[str, Any]) -> None:
    async def all_at_once() -> None:
        await asyncio.gather(*(app["synthetic"]("alone=10") for _ in range(4)))

    began = time.monotonic()
    asyncio.run(all_at_once())
    assert time.monotonic() - began >= 0.040


def test_a_coin_falls_once_for_each_container_and_query(app: dict[str, Any]) -> None:
    queries = [f"busy_us={number}&coin_us=0:20" for number in range(300, 400)]
    extra = [app["behaviour"](query).busy_ns // 1000 - number for number, query in enumerate(queries, 300)]
    assert set(extra) == {0, 20}
    assert 20 <= extra.count(20) <= 80  # 1 in 10**9 by chance
    assert [app["behaviour"](query).busy_ns // 1000 - 399 for query in [queries[-1]] * 5] == [extra[-1]] * 5
    assert app["Behaviour"]("busy_us=300&coin_us=10:10").busy_ns == 310_000


def app_as(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    """The app with these variables."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(ROOT / "services"))
    return runpy.run_path(str(ROOT / "services/frameworks/synthetic/app.py"))


@pytest.mark.parametrize(("role", "expected"), [("first", (500_000, 0.0)), ("second", (0, 0.002)), ("", (0, 0.0))])
def test_a_parameter_for_a_role_is_for_no_other(role: str, expected: object, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = app_as(monkeypatch, ROLE=role)["Behaviour"]("first.busy_us=500&second.alone=2")
    assert (asked.busy_ns, asked.alone_s) == expected


@pytest.fixture
def wsgi(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    return app_as(monkeypatch, ROLE="first", INTERFACE="wsgi")


def ask_wsgi(wsgi: Any, path: str, query: str = "", connection: Any = None, method: str = "GET") -> tuple[str, bytes]:
    said: list[tuple[str, list[tuple[str, str]]]] = []
    environ = {"PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": method, "gunicorn.socket": connection}
    body = b"".join(wsgi["app"](environ, lambda status, headers: said.append((status, headers))))
    assert dict(said[0][1])["content-length"] == str(len(body))
    return said[0][0], body


def test_it_speaks_wsgi_too(wsgi: dict[str, Any]) -> None:
    assert ask_wsgi(wsgi, "/json") == ("200 OK", b'{"message":"Hello, World!"}')
    assert ask_wsgi(wsgi, "/", "duration=1") == ("200 OK", b'{"duration":1}')
    assert ask_wsgi(wsgi, "/nope")[0] == "404 Not Found"
    assert ask_wsgi(wsgi, "/json", method="POST")[0] == "405 Method Not Allowed"
    assert ask_wsgi(wsgi, "/synthetic", "body=1")[0] == "400 Bad Request"
    began = time.monotonic()
    assert ask_wsgi(wsgi, "/synthetic", "alone=20&at_least=10") == ("200 OK", b"Hello, World!")
    assert time.monotonic() - began >= 0.030


def test_nagle_switches_tcp_nodelay_off_where_it_is_asked_to(wsgi: dict[str, Any]) -> None:
    for query, options in (("first.nagle=1", [(6, 1, 0)]), ("second.nagle=1", []), ("first.nagle=0", [])):
        connection = Mock()
        assert ask_wsgi(wsgi, "/synthetic", query, connection)[0] == "200 OK"
        assert [call.args for call in connection.setsockopt.call_args_list] == options, query


def test_the_database_has_one_statement_at_a_time(app: dict[str, Any]) -> None:
    running, seen = 0, []

    class Database:
        async def execute(self, statement: str) -> None:
            nonlocal running
            running += 1
            seen.append((running, statement))
            await asyncio.sleep(0.001)
            running -= 1

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(app["synthetic"]("database_ms=8") for _ in range(4)))

    app["connections"].append(Database())
    try:
        assert [answer.status for answer in asyncio.run(all_at_once())] == [200] * 4
    finally:
        app["connections"].clear()
    assert [number for number, _ in seen] == [1] * 4 and "interval '8.0 ms'" in seen[0][1]


def test_one_worker_hangs(app: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first, hanging = waits(app, "hang=500", [0.0] * 4), app["is_the_hanging_worker"]
    assert first == [0.5, 0.0, 0.5, 0.0]
    # Another process of the container asks second.
    hanging.cache_clear()
    assert waits(app, "hang=500", [0.0] * 4) == [0.0] * 4


def test_a_share_of_errors(app: dict[str, Any]) -> None:
    asked = app["Behaviour"]("errors=30")
    assert abs(sum(asked.fails(asked.next()) for _ in range(1000)) - 300) <= 2
    statuses = [ask(app, "/synthetic", "errors=30")[0] for _ in range(100)]
    assert set(statuses) == {200, 500} and abs(statuses.count(500) - 30) <= 2


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


@pytest.mark.parametrize(
    "query", ["busy_us=x", "sleep=1", "nothing=1", "capacity=0", "stall=5", "a", "group=0", "nagle=1", "first.x=1x&y"]
)
def test_a_query_that_is_none_is_a_400_and_no_500(query: str, app: dict[str, Any]) -> None:
    assert ask(app, "/synthetic", query)[0] == 400


def test_it_is_in_no_list_of_the_matrix() -> None:
    assert {framework.folder for framework in MATRIX.selftests.values()} == {"synthetic"}
    assert "synthetic" not in MATRIX.frameworks
    for text in (compose_file(MATRIX), bench_file(MATRIX), catalogue_file(MATRIX)):
        assert "synthetic" not in text
    for preset in (None, "all", "quick"):
        chosen = plan(preset=preset, stacks=("*",)) if preset != "quick" else plan()
        assert not [s.name for s in chosen.services if "synthetic" in s.name]


@pytest.mark.parametrize("wanted", [{"stacks": ("*synthetic",)}, {"frameworks": ("synth*",)}])
def test_no_glob_selects_it(wanted: dict[str, Any]) -> None:
    assert "unknown" in str(refused(UserError, plan, **wanted))


def test_its_exact_name_selects_it() -> None:
    made = plan(stacks=("uvicorn-synthetic",), scenarios=("busy-100", "mix"))
    paths = ("/synthetic?busy_us=100", "/synthetic?sleep=1:98,50:2")
    assert [(c.service.name, c.exchange.path) for c in made.cells] == [(NAME, path) for path in paths]
    both = plan(stacks=("uvicorn-synthetic", "aiohttp"), pythons=("3.13",), scenarios=("json",))
    assert {s.name for s in both.services} == {NAME, "aiohttp-py313-debian"}
    wsgi = plan(stacks=("gunicorn-sync-synthetic-wsgi-first",), scenarios=("nagle",))
    assert {s.server.name for s in wsgi.services} == {"gunicorn-sync"}
    servers = {s.server.name for s in plan(frameworks=("synthetic",)).services}
    assert servers == {server.name for server in MATRIX.servers.values() if "asgi" in server.serves}
    assert f"\n  {NAME}:\n" in run_services(MATRIX, made.services)


def test_a_variant_is_the_same_app_with_another_environment() -> None:
    made = plan(stacks=("uvicorn-synthetic", "uvicorn-synthetic-slower-40us"), scenarios=("busy-1000",))
    assert [c.service.stack for c in made.cells] == ["uvicorn-synthetic", "uvicorn-synthetic-slower-40us"]
    plain, slower = (run_services(MATRIX, [service]) for service in made.services)
    assert '"FRAMEWORK": "synthetic"' in plain and '"FRAMEWORK": "synthetic"' in slower
    assert "environment" not in plain and '    environment: {"SLOWER_US": "40"}\n' in slower
    assert "synthetic-slower-40us" not in needs(MATRIX, "3.13")[1]


@pytest.mark.parametrize("slower_us", [0, 12, 40])
def test_slower_is_so_much_more_cpu(slower_us: int, monkeypatch: pytest.MonkeyPatch) -> None:
    role = app_as(monkeypatch, SLOWER_US=str(slower_us))
    assert role["Behaviour"]("busy_us=1000").busy_ns == 1_000_000 + 1000 * slower_us
    assert role["Behaviour"]("sleep=1:1").busy_ns == 0


def test_no_other_app_is_asked_for_its_routes() -> None:
    with pytest.raises(UserError, match="only self-test apps have it"):
        plan(stacks=("aiohttp",), scenarios=("mix",))
    with pytest.raises(UserError, match="it is for self-tests"):
        plan(stacks=("uvicorn-synthetic",), scenarios=("db-raw",))


def test_its_requirements_are_locked_on_the_default_python_alone() -> None:
    assert "synthetic" in needs(MATRIX, "3.13")[1] and "synthetic" not in needs(MATRIX, "3.12")[1]

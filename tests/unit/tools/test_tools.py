"""The load tools: their command lines, what they cannot do, and their output files."""

from __future__ import annotations

import json
import resource
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from programs import Pretend

from bench.core.exchange import Exchange
from bench.tools import TOOLS, parse
from bench.tools.parsed import Errors, Parsed
from bench.tools.tool import CannotError, Load
from bench.tools.vegeta import connections, opened, settle_s, workers

X = Exchange(protocol="https", path="/x")
PUT = replace(X, method="PUT")
CLOSED = Load(exchange=X, at="a:443", connections=8, duration_s=5, timeout_s=10)
OPEN = replace(CLOSED, connections=None, rate=50)
JSON: Mapping[str, Any] = {"headers": ("Content-Type: application/json",), "body_file": "/body"}
POST: Mapping[str, Any] = {"exchange": replace(X, method="POST"), **JSON}
OWN: Mapping[str, Any] = {"headers": ("X-A: 1", "content-type: text/x"), "requests": "app/load/s"}

URL = CLOSED.url
WRK = "wrk -t 1 -c 8 -d 5s --timeout 10s --latency"
AB, AB_TIME = "ab -q -l -r -s 10 -c 8 -k", "-t 5 -n 10000000"
HEY = "hey -c 8 -t 10 -disable-redirects"
VEGETA = "vegeta-attack -rate 50 -duration 5s -settle 0.1s -open 3 -max-connections 7 -max-workers 7 -timeout 10s"
OWN_HEADERS = "-H X-A: 1 -T text/x"


def words(tool: str, load: Load) -> str:
    command = TOOLS[tool].command(load)
    return " ".join(command.argv) + (f" < {command.stdin}" if command.stdin else "")


@pytest.mark.parametrize(
    ("tool", "load", "expected"),
    [
        ("wrk", CLOSED, f"{WRK} {URL}"),
        ("wrk", replace(CLOSED, keepalive=False), f"{WRK} -H Connection: close {URL}"),
        ("wrk", replace(CLOSED, **OWN), f"{WRK} -s app/load/s/requests.lua {URL}"),
        ("ab", CLOSED, f"{AB} {AB_TIME} {URL}"),
        ("ab", replace(CLOSED, duration_s=None, count=80), f"{AB} -n 80 {URL}"),
        ("ab", replace(CLOSED, **POST), f"{AB} -p /body -T application/json {AB_TIME} {URL}"),
        ("ab", replace(CLOSED, **OWN, exchange=PUT), f"{AB} -u /dev/null {OWN_HEADERS} {AB_TIME} {URL}"),
        ("ab", replace(CLOSED, exchange=replace(X, method="HEAD")), f"{AB} -i {AB_TIME} {URL}"),
        ("hey", CLOSED, f"{HEY} -z 5s {URL}"),
        ("hey", replace(CLOSED, rate=20, duration_s=0.5), f"{HEY} -z 0.5s -q 2.5 {URL}"),
        ("hey", replace(CLOSED, duration_s=None, count=80, keepalive=False), f"{HEY} -n 80 -disable-keepalive {URL}"),
        ("hey", replace(CLOSED, headers=("Host: b",)), f"{HEY} -z 5s -host b -H Host: b {URL}"),
        ("hey", replace(CLOSED, **POST), f"{HEY} -z 5s -m POST -T application/json -D /body {URL}"),
        ("vegeta", replace(OPEN, most_workers=7), f"{VEGETA} < GET {URL}"),
        (
            "vegeta",
            replace(OPEN, most_workers=7, keepalive=False, **POST),
            f"{VEGETA} -keepalive=false -body /body < POST {URL}".replace("-open 3", "-open 0"),
        ),
    ],
)
def test_the_command_line(tool: str, load: Load, expected: str) -> None:
    assert words(tool, load) == expected


def test_vegeta_sends_the_requests_of_an_app_to_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "targets.txt").write_text("GET http://ORIGIN/a\nX: http://ORIGIN/\n\nPUT http://ORIGIN/b\n@body-2\n")
    load = replace(OPEN, **{**OWN, "requests": str(tmp_path)})
    for protocol, at, origin in (("http/1.1", "a:80", "http://a:80"), ("https", "a:443", "https://a:443")):
        command = TOOLS["vegeta"].command(replace(load, exchange=replace(X, protocol=protocol), at=at))
        assert command.stdin == f"GET {origin}/a\nX: http://ORIGIN/\n\nPUT {origin}/b\n@body-2"


@pytest.mark.parametrize(
    ("tool", "load", "cause"),
    [
        ("wrk", replace(CLOSED, duration_s=0.5), "take a duration of '0.5': whole numbers from 1 only"),
        ("wrk", replace(CLOSED, timeout_s=0.5), "take a timeout of '0.5': whole numbers from 1 only"),
        ("wrk", replace(CLOSED, threads=3), "share 8 connections evenly between 3 threads"),
        ("ab", replace(CLOSED, count=5), "do both or neither of a duration and a count"),
        ("ab", replace(CLOSED, duration_s=None, count=5), "make 5 requests on 8 connections: at least one for each"),
        ("ab", replace(CLOSED, duration_s=1.5), "take a duration of '1.5': whole numbers from 1 only"),
        ("hey", replace(CLOSED, duration_s=None), "do both or neither of a duration and a count"),
        ("hey", replace(CLOSED, connections=None), "take a connections of '': whole numbers from 1 only"),
        ("vegeta", replace(OPEN, rate=None), "take a rate of '': whole numbers from 1 only"),
    ],
)
def test_what_a_tool_cannot_do(tool: str, load: Load, cause: str) -> None:
    with pytest.raises(CannotError) as cannot:
        TOOLS[tool].command(load)
    assert str(cannot.value) == cause


KNOWN = ("wrk", "ab", "hey", "vegeta")


@pytest.mark.parametrize(
    ("change", "able"),
    [
        ({}, {"wrk", "ab", "hey"}),
        ({"connections": None, "rate": 5}, {"vegeta"}),
        ({"rate": 5}, {"hey"}),
        ({"rate": 5, "exchange": Exchange(method="POST")}, {"hey"}),
        ({"count": 80}, {"ab", "hey"}),
        ({"exchange": Exchange(method="POST")}, {"ab", "hey"}),
        ({"exchange": Exchange(method="PATCH", targets=1)}, {"wrk", "hey"}),
        ({"exchange": Exchange(targets=2)}, {"wrk"}),
        ({"exchange": Exchange(targets=1, redirects=(302,))}, {"wrk", "hey"}),
        ({"exchange": Exchange(targets=1, redirects=(302,)), "connections": None, "rate": 5}, {"vegeta"}),
    ],
)
def test_what_a_plan_may_ask_for(change: Mapping[str, Any], able: set[str]) -> None:
    assert {name for name in KNOWN if TOOLS[name].refusal(Load(**{"connections": 8} | change)) is None} == able


@pytest.mark.parametrize(
    ("rate", "timeout_s", "most", "expected"),
    [(50, 10, None, 550), (50, 0.5, None, 50), (20000, 10, None, 768), (500, 10, 264, 264), (5, 1, 264, 10)],
)
def test_vegetas_workers(
    rate: int, timeout_s: float, most: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    assert workers(replace(OPEN, rate=rate, timeout_s=timeout_s, most_workers=most)) == expected
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert workers(OPEN) == 550


@pytest.mark.parametrize(
    ("rate", "latency_s", "cpus", "expected"),
    [(2000, 0, 1, 22000), (2001, 0, 1, 64), (8000, 0.05, 1, 200), (8000, 2, 1, 8000), (9000, 0, 4, 64)],
)
def test_vegeta_opens_no_more_connections_than_its_rate_needs(
    rate: int, latency_s: float, cpus: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cpus)))
    assert connections(replace(OPEN, rate=rate, timeout_s=10, latency_s=latency_s)) == expected


@pytest.mark.parametrize(
    ("rate", "how", "expected"),
    [
        (5, {}, (1, 0.2, 2)),
        (190, {}, (10, 0.1, 29)),
        (5000, {}, (64, 0.1, 564)),
        (5000, {"keepalive": False}, (0, 0.1, 500)),
        (5000, {"leads_in": False}, (0, 0, 0)),
    ],
)
def test_vegeta_opens_connections_and_settles_before_the_load(
    rate: int, how: dict[str, Any], expected: tuple[int, float, int]
) -> None:
    load = replace(OPEN, rate=rate, **how)
    assert (opened(load), settle_s(load), TOOLS["vegeta"].lead_requests(load)) == expected


def test_the_version_is_what_a_tool_says_of_itself(pretend: Pretend) -> None:
    pretend("wrk", "echo 'wrk debian/4.1.0 [epoll] Copyright'; echo 'Usage: wrk <options>'; exit 1")
    pretend("ab", "echo 'This is ApacheBench, Version 2.3 <$Revision: 1 $>'")
    pretend("dpkg-query", "printf 0.1.4-2")
    pretend("vegeta", "echo 'Version: v12.13.0'; echo 'Commit: '")
    versions = {"wrk": "debian/4.1.0", "ab": "2.3", "hey": "0.1.4-2", "vegeta": "12.13.0"}
    assert {name: TOOLS[name].version() for name in versions} == versions
    pretend("wrk", "exit 3")
    pretend("dpkg-query", "echo 'dpkg-query: no packages found matching hey' >&2; exit 1")
    assert (TOOLS["wrk"].version(), TOOLS["hey"].version()) == ("", "")


def test_every_tool_leaves_what_is_parsed() -> None:
    for name, tool in TOOLS.items():
        assert tool.name == name
        assert parse(name, b"").report == "absent"
    assert [TOOLS[name].cpus(2, 4) for name in KNOWN] == [2, 1, 4, 4]
    assert [TOOLS[name].output for name in KNOWN] == [*["output.txt"] * 3, "output.json"]


@pytest.mark.parametrize("keepalive", [True, False])
def test_its_command_line_says_whether_connections_are_kept(keepalive: bool) -> None:
    for tool in map(TOOLS.__getitem__, KNOWN):
        load = replace(CLOSED if tool.refusal(OPEN) else OPEN, keepalive=keepalive)
        assert tool.keeps_alive(tool.command(load).argv) == keepalive


@pytest.mark.parametrize(("tool", "counted"), [("wrk", 10), ("ab", 10), ("hey", 12), ("vegeta", 8)])
def test_what_its_own_rate_counts(tool: str, counted: int) -> None:
    errors = Errors(status={"0": 2, "200": 7, "302": 1, "500": 2})
    parsed = Parsed(tool=tool, report="complete", requests=10, attempts=12, errors=errors)
    assert TOOLS[tool].counted_in_rate(parsed) == counted
    assert TOOLS["vegeta"].counted_in_rate(replace(parsed, errors=Errors())) is None


def test_vegetas_reports_are_made_of_its_results(pretend: Pretend, tmp_path: Path) -> None:
    pretend("vegeta", 'case $1 in report) echo "$2" ;; encode) echo 1000,200,5,0,1,,,,0,GET,u, ;; esac')
    (tmp_path / ".output.txt.tmp").write_text("said\n")
    assert TOOLS["vegeta"].save(OPEN, tmp_path)
    assert (tmp_path / ".output.json.tmp").read_text() == "-type=json\n"
    assert (tmp_path / ".output.txt.tmp").read_text() == "said\n-type=text\n"
    lag = json.loads((tmp_path / ".lag.json.tmp").read_text())
    assert (lag["requests"], lag["rate"], lag["workers"]) == (1, 50.0, 550)
    assert json.loads((tmp_path / ".latencies.json.tmp").read_text())["ns"] == [5]


@pytest.mark.parametrize(
    "script", ["exit 1", '[ "$1" = encode ] && exit 3; true', '[ "$1" = report ] || echo nonsense']
)
def test_a_report_that_cannot_be_made_is_told_and_the_others_stay(
    script: str, pretend: Pretend, tmp_path: Path
) -> None:
    pretend("vegeta", script)
    assert not TOOLS["vegeta"].save(OPEN, tmp_path)
    assert (tmp_path / ".output.json.tmp").exists()

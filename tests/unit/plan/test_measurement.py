"""A measurement and its line of plan.jsonl are equivalent, and an invalid line says what is wrong."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from make_plans import plan
from make_run import entry

from bench.plan.measurement import Measurement, measurement_of
from bench.plan.order import measurements


@pytest.fixture(scope="module")
def planned() -> list[Measurement]:
    return measurements(plan(preset="latency", rounds=2, scenarios=("json", "echo", "db-raw")), 1)


def test_every_measurement_of_a_plan_is_read_back_from_its_line_unchanged(planned: list[Measurement]) -> None:
    assert {one.mode for one in planned} == {"solo", "turns", "rate", "null"}
    assert [measurement_of(json.loads(one.to_line())) for one in planned] == planned
    unusual = replace(planned[0], exchange=replace(planned[0].exchange, protocol="https", body="a"))
    assert measurement_of(json.loads(unusual.to_line())) == unusual


def test_a_line_leaves_out_what_is_empty_by_default_and_keeps_the_order_of_the_fields(
    planned: list[Measurement],
) -> None:
    of_exchange = ["kind", "protocol", "method", "path", "body", "targets", "redirects"]
    at = (names := [field.name for field in fields(Measurement)]).index("exchange")
    names[at : at + 1] = of_exchange
    for line in (json.loads(one.to_line()) for one in planned):
        assert list(line) == [name for name in names if name in line]
        assert {"rate", "count", "mode", "keepalive", "warmup_s"} <= line.keys()
        assert {"settings", "url", "host_network", "event", "redirects", "requests"}.isdisjoint(line)
        assert ("unit" in line) == (line["mode"] in ("turns", "rate"))


def test_a_line_of_an_older_run_may_leave_out_what_came_later() -> None:
    read = measurement_of(entry(tool="vegeta", level="r500"))
    assert isinstance(read, Measurement)
    assert (read.mode, read.step, read.threads, read.keepalive) == ("solo", read.id, 1, True)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"id": ""}, "id is not one line of text"),
        ({"id": "a\nb"}, "id is not one line of text"),
        ({"service": None}, "service: expected 'str', got 'null'"),
        ({"body": "a\0b"}, "body is not one line of text"),
        ({"path": "/\ud800"}, "path is not one line of text"),
        ({"round": 0}, "round: expected 'int' >= 1"),
        ({"round": True}, "round: expected 'int', got 'bool'"),
        ({"round": 1.0}, "round: expected 'int', got 'float'"),
        ({"connections": "64"}, "connections: expected 'int | null', got 'str'"),
        ({"rate": 0}, "rate: expected 'int' >= 1"),
        ({"rate": 1e9}, "rate: expected 'float' < 1000000000.0"),
        ({"rate": float("nan")}, "rate: expected 'float' > 0.0"),
        ({"duration_s": -5}, "duration_s: expected 'int' >= 1"),
        ({"warmup_s": -1}, "warmup_s: expected 'int' >= 0"),
        ({"database": 1}, "database: expected 'bool', got 'int'"),
        ({"mode": "trio"}, "'trio' is not a mode"),
        ({"tool": "curl"}, "the output of 'curl' cannot be read"),
        ({"kind": "sse"}, "wrk does not speak sse over http/1.1"),
        ({"dir": "/etc"}, "'/etc' is not a folder of this run"),
        ({"dir": "raw/../../etc"}, "'raw/../../etc' is not a folder of this run"),
        ({"service": "a/b", "dir": "raw"}, "'raw' is not a folder of this run"),
    ],
)
def test_a_line_that_is_no_measurement_says_why(changes: dict[str, Any], fault: str) -> None:
    assert measurement_of(entry() | changes) == fault


def test_a_line_without_its_service_is_no_measurement() -> None:
    line = entry()
    del line["service"]
    assert measurement_of(line) == "missing key 'service'"
    assert measurement_of(None) == "expected 'object', got 'null'"

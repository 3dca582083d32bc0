"""The common rate of a table's services: its value, which services are left out, and that it is decided once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, Patch
from loop_runs import NAMES, STACKS, ask, at_rate, block, finish, finish_block, null, solo, step_id, tables_of
from make_run import entry, write_run
from turns_runs import record

from bench.analysis.tables.observations import TableRecords, by_table
from bench.load.task import read_step
from bench.records.record import Cause, Record
from bench.run.common_rates import CommonRates, common_rates
from bench.run.facts import run_facts_of
from bench.run.reader import read_raw, read_run, read_service
from bench.schedule.common_rate import client_most, knee_ceiling, rates_of
from bench.tools.levels import Level
from bench.validity.run_records import build_records, judged_record
from bench.validity.run_rules import BOUND

AIOHTTP, TORNADO, UVICORN = NAMES
MOST = 5000.0
RATE = Level.read("share50")


def found(speeds: Mapping[str, float], shares: tuple[str, ...] = ("share50",), **changes: Any) -> TableRecords:
    table = tables_of(block(1, STACKS))[0] | {"shares": list(shares)}
    made = [record(stack, line=entry(stack, level="c16"), speed=speed, **changes) for stack, speed in speeds.items()]
    (one,) = by_table(run_facts_of({"tables_in_turns": [table]}).tables, made)
    return one


def decided(*speeds: float, most: float | None = MOST, **how: Any) -> CommonRates:
    return rates_of(found(dict(zip(STACKS, speeds, strict=True)), **how), most)


SLOWEST = [
    ((1234, 2000, 3000), AIOHTTP, 610),
    ((3000, 1000, 2000), TORNADO, 500),
    ((30, 40, 29.9), UVICORN, 14),
    ((1, 1, 1), AIOHTTP, 1),
    ((9999, 10_000, 60_000), AIOHTTP, 4900),
    ((12_000, 13_000, 60_000), AIOHTTP, MOST),
]


@pytest.mark.parametrize(("speeds", "slowest", "rate"), SLOWEST)
def test_the_slowest_sets_it_as_far_as_the_client_can_send(speeds: Sequence[float], slowest: str, rate: int) -> None:
    told = decided(*speeds)
    capped = ("share50",) if rate == MOST else ()
    assert (told.slowest, told.rates, told.capped) == (slowest, {"share50": rate}, capped)
    assert (told.left_out, told.reason, common_rates(json.loads(told.text()))) == ({}, None, told)
    assert told.speeds == dict(zip((AIOHTTP, TORNADO, UVICORN), map(float, speeds), strict=True))
    assert {told.of(RATE, name) for name in told.speeds} == {rate}


def test_who_would_drag_it_below_a_tenth_of_the_bests_is_left_out_by_name() -> None:
    told = decided(190, 1000, 2000)
    assert told.rates == {"share50": 500} and told.slowest == TORNADO
    words = "left out: 190 requests/s would drag the common rate below a tenth of the best's"
    assert told.left_out == {AIOHTTP: words} and told.of(RATE, AIOHTTP) == words
    # "Best" is limited to what the client can send.
    assert decided(1000, 2000, 60_000).left_out == {}
    assert [*decided(999, 2000, 60_000).left_out] == [AIOHTTP]
    # All shares leave out the same services.
    assert [*decided(999, 2000, 60_000, shares=("share10", "share50")).left_out] == [AIOHTTP]


def test_every_share_has_its_rate() -> None:
    assert decided(1000, 2000, 3000, shares=("share10", "share90")).rates == {"share10": 100, "share90": 900}
    told = decided(9000, 9000, 9000, shares=("share10", "share90"))
    assert (told.rates, told.capped) == ({"share10": 900, "share90": 5000}, ("share90",))


def test_without_what_it_follows_from_there_is_none_and_that_is_said() -> None:
    told = decided(1000, 2000, 3000, most=None)
    assert told.rates == {} and "what vegeta can send is not known" in str(told.of(RATE, AIOHTTP))
    told = decided(1000, 2000, 3000, causes=[Cause("errors", "9 of 10 attempts (90.00%)")])
    assert told.rates == {} and "its speed is not known (errors: 9 of 10" in str(told.of(RATE, AIOHTTP))


def test_one_without_a_speed_is_left_out_and_the_others_are_not() -> None:
    told = rates_of(found({"tornado": 1000, "uvicorn-asgi": 2000}), MOST)
    assert told.of(RATE, AIOHTTP) == "left out: its speed is not known (it was not loaded in the first round)"
    assert told.of(RATE, TORNADO) == 500


def test_a_window_whose_responses_came_late_still_tells_about_the_speed() -> None:
    told = decided(1000, 2000, 3000, causes=[Cause("late responses", "after 7 of 10 turns"), Cause(BOUND, "busy")])
    assert told.rates == {"share50": 500}


def null_record(**changes: Any) -> Record:
    line = entry("aiohttp", tool="vegeta", level="r1000") | {"service": "null"}
    values = {"line": line, "goodput": 1000.0, "loadgen_busy_ratio": 0.1} | changes
    made = record("aiohttp", **values)
    object.__setattr__(made, "rate", 1000)
    return made


def test_what_the_client_can_send_is_half_of_what_the_null_server_shows() -> None:
    assert client_most([null_record()]) == 5000
    # Other programs made it late, but it needed the same CPU time.
    assert client_most([null_record(causes=[Cause("load not as requested", "late by 3 ms")])]) == 5000
    # If the tool could not send the rate, what it did send is its limit.
    assert client_most([null_record(goodput=900.0, loadgen_busy_ratio=1.0)]) == 450
    assert client_most([null_record(loadgen_busy_ratio=None)]) is None
    assert client_most([record("aiohttp")]) is None
    assert knee_ceiling([null_record(), record("aiohttp")]) is None
    # Opening a connection for each request costs it more.
    closing = entry("aiohttp", tool="vegeta", level="r1000close") | {"service": "null"}
    both = [null_record(), null_record(line=closing, loadgen_busy_ratio=0.5)]
    assert (client_most(both), client_most(both, closes=True)) == (5000, 1000)
    assert client_most([null_record()], closes=True) is None
    searched = null_record(line=entry("aiohttp", tool="vegeta", level="knee-p99-25ms") | {"service": "null"})
    assert knee_ceiling([null_record(), searched]) == 1000


def a_run(folder: Path) -> tuple[Path, list[list[dict[str, Any]]]]:
    """A run with three rounds of a table, and the control that shows what vegeta can send."""
    rounds = [block(number, STACKS) for number in (1, 2, 3)]
    rated = [at_rate(lines) for lines in rounds[1:]]
    tables = [tables_of(rounds[0])[0] | {"shares": ["share50"]}]
    lines = [*rounds[0], *rounds[1], *rated[0], *rounds[2], *rated[1]]
    (folder / "raw/common-rates/json").mkdir(parents=True)
    run = write_run(folder, lines, tables_in_turns=tables)
    return run, [rounds[0], [*rounds[1], *rated[0]], [*rounds[2], *rated[1]]]


def loaded(folder: Path) -> dict[str, Any]:
    lines = [*read_step(str(folder)).planned.values()]
    return {line.service: line.rate for line in lines if line.mode == "rate"}


SPEEDS = {AIOHTTP: 1000.0, TORNADO: 2000.0, UVICORN: 90.0}
KEPT = "raw/common-rates/json/wrk-c16.json"


def test_it_is_decided_after_the_first_round_and_kept(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setattr("bench.schedule.common_rate.client_most", lambda records, closes: MOST)
    run, (first, second, _) = a_run(tmp_path)
    assert ask(run, capsys, 0, "--begin") == (0, []) and step_id(run) == "r01-b1" and loaded(run) == {}
    assert not (run / KEPT).exists()
    finish_block(run, first, SPEEDS)
    assert ask(run, capsys, 10)[0] == 0 and step_id(run) == "r02-b1"
    speed = json.loads((run / KEPT).read_text())["speeds"]
    assert loaded(run) == dict.fromkeys((AIOHTTP, TORNADO), json.loads((run / KEPT).read_text())["rates"]["share50"])
    assert loaded(run)[AIOHTTP] == pytest.approx(speed[AIOHTTP] / 2, rel=0.1)
    kept, turns = (run / KEPT).read_text(), [line for line in second if line["mode"] == "turns"]
    finish_block(run, turns, {name: 3 * speed for name, speed in SPEEDS.items()})
    assert ask(run, capsys, 20)[0] == 0 and step_id(run) == "r03-b1"
    rates = loaded(run)
    # The run is interrupted and resumed.
    (run / "loop.json").unlink()
    assert ask(run, capsys, 0, "--begin")[0] == 0 and step_id(run) == "r03-b1"
    assert loaded(run) == rates and (run / KEPT).read_text() == kept
    assert [line["rate"] for line in second if line["mode"] == "rate"] == [None] * 3, "the plan stays as it is"


def test_a_search_is_told_what_the_client_can_send(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    def ceiling(records: Iterable[Record]) -> float:
        assert [one.service for one in records] == ["null"]
        return 2 * MOST

    monkeypatch.setattr("bench.schedule.next_step.knee_ceiling", ceiling)
    first = null(1)
    knee = solo("aiohttp", 2, tool="vegeta", level="knee-p99-50ms", connections=None, knee_p99_s=0.05)
    run = write_run(tmp_path, [first, knee])

    assert ask(run, capsys, 0, "--begin")[0] == 0 and read_step(str(run)).knee_ceiling is None
    finish(run, [first], [1000.0])
    assert ask(run, capsys, 10)[0] == 0 and read_step(str(run)).knee_ceiling == 2 * MOST


def test_the_record_has_the_rate_or_says_why_it_has_none(tmp_path: Path) -> None:
    run, (_, second, third) = a_run(tmp_path)
    planned = {one.id: one for one in read_run(str(run)).planned}

    def judged(line: Mapping[str, Any]) -> Record:
        one = planned[line["id"]]
        return judged_record(one, read_raw(str(run), one), read_service(str(run), one.service))

    rated = {line["service"]: line for line in second if line["mode"] == "rate"}
    assert judged(rated[AIOHTTP]).causes == (
        Cause("not run", "its common rate follows from the speeds of the first round, which is not complete"),
    )
    told = CommonRates(client="vegeta", rates={"share50": 500}, left_out={UVICORN: "left out: it is slow"})
    (run / KEPT).write_text(told.text())
    assert (judged(rated[AIOHTTP]).rate, judged(rated[UVICORN]).rate) == (500, None)
    assert judged(rated[UVICORN]).causes == (Cause("not run", "left out: it is slow"),)
    # One record says so; later rounds, which never began, have no records.
    services = {name: read_service(str(run), name) for name in (AIOHTTP, TORNADO, UVICORN)}
    ids = [one.id for one in build_records(read_run(str(run)), services) if one.mode == "rate"]
    assert ids == [line["id"] for line in rated.values()] and third


def test_a_share_of_a_knee_is_of_the_lowest_one_that_was_found() -> None:
    table = found(dict(zip(STACKS, (9000, 12_000, 10_000), strict=True)), shares=("knee50-p99-50ms", "share10"))
    told = rates_of(table, MOST, lambda scenario, limit_s: (TORNADO, 12_345) if limit_s == 0.05 else None)
    # At the knee itself the client was on time, so the limit estimated from a load of 1,000/s does not apply.
    assert told.rates == {"knee50-p99-50ms": 6100, "share10": 900} and told.capped == ()
    assert told.knees == {"knee50-p99-50ms": TORNADO} and common_rates(json.loads(told.text())) == told
    none = rates_of(table, MOST)
    assert none.of(Level.read("knee50-p99-50ms"), AIOHTTP) == "no common rate was decided for knee50-p99-50ms"

"""A knee in the records and the report of a run."""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import Any

import pytest
from built_runs import build, only_record
from make_run import entry, output_of, write_knee, write_latencies, write_measurement, write_run

from bench.records.file import read_records
from bench.records.record import Record
from bench.tools.send_lag import Attack, lag_facts

LEVEL = "knee-p99-50ms"


def records_of(folder: Path, rounds: list[dict[str, Any]]) -> list[Record]:
    """The records of a run whose rounds hold at 1,000/s, with these changes."""
    lines = [entry(tool="vegeta", level=LEVEL, round=number) for number in range(1, len(rounds) + 1)]
    others = [entry(tool=tool, level="c64", number=number) for number, tool in ((2, "wrk"), (3, "hey"))]
    write_run(folder, [*lines, *others])
    for line, goodput in zip(others, (1250, 1600), strict=True):
        write_measurement(folder, line, output_of(line, goodput))
    for line, change in zip(lines, rounds, strict=True):
        asked = line | {"rate": 1000}
        write_measurement(folder, asked, output_of(asked, 1000, change.get("bad", 0)))
        write_knee(
            folder, line, **{"rate": 1000, "found_in": "r01" if line["round"] > 1 else None} | change.get("knee", {})
        )
        write_latencies(folder, line, 1000, change.get("tail_ns", 9_000_000))
        if "lag" in change:
            (folder / line["dir"] / "lag.json").write_text(json.dumps(change["lag"]))
    records = build(folder)
    return [record for record in records if record.level.text == LEVEL]


def told(folder: Path) -> str:
    """The row of the knee in the report, from its requests/s on."""
    start = f"| aiohttp-py313-debian | vegeta | {LEVEL} "
    (line,) = (line for line in (folder / "report.md").read_text().splitlines() if line.startswith(start))
    return line.removeprefix(start)


def test_a_knee_that_holds_in_three_later_rounds_is_confirmed(tmp_path: Path) -> None:
    records = records_of(tmp_path, [{}] * 4)
    assert [(record.rate, record.knee_rate, record.valid) for record in records] == [(1000, 1000, True)] * 4
    assert told(tmp_path) == "| 1,000 (held in 3 of 3 later rounds) | 0.200 ms | 1.90 ms | 9.00 ms |"


def test_two_later_rounds_are_too_few(tmp_path: Path) -> None:
    records_of(tmp_path, [{}] * 3)
    assert told(tmp_path).endswith("| not confirmed: 3 later rounds are needed |")


def test_a_later_round_that_does_not_hold_is_told(tmp_path: Path) -> None:
    records = records_of(tmp_path, [{}, {"tail_ns": 61_000_000}, {}, {}, {"bad": 50}])
    assert [record.knee_rate for record in records] == [1000, None, 1000, 1000, None]
    assert records[1].nulls["knee_rate"] == "did not hold: p99 61 ms"
    row = told(tmp_path)
    assert row.startswith("| 1,000 (held in 2 of 4 later rounds) |")
    assert "| not confirmed: round 2: did not hold: p99 61 ms; round 5: errors: 50 of 5000 attempts" in row


def test_a_knee_that_the_client_ended_is_not_the_servers(tmp_path: Path) -> None:
    reason = "client-limited at 1000/s: the server's knee is higher (the load generator: its CPUs were 90% busy)"
    (record,) = records_of(tmp_path, [{"knee": {"reason": reason, "ended_by": "client"}}])
    assert (record.knee_rate, record.client_limit) == (None, 1000)
    assert reason in told(tmp_path) and told(tmp_path).startswith("| – |")


def test_lag_that_voids_a_latency_does_not_void_a_knee(tmp_path: Path) -> None:
    late = Attack(
        array("q", (10**6 * n + (30 * 10**6 if n % 20 == 1 else 0) for n in range(5000))), array("q", [10**6] * 5000)
    )
    records = records_of(tmp_path, [{}, {"lag": lag_facts(late, 1000, 10_000)}, {}, {}])
    assert not records[1].valid and records[1].knee_rate == 1000
    assert "| 1,000 (held in 3 of 3 later rounds) |" in told(tmp_path)


def test_a_search_that_found_none_says_why(tmp_path: Path) -> None:
    records = records_of(tmp_path, [{"knee": {"reason": "it does not hold at 84/s"}}])
    assert records[0].knee_rate is None and records[0].valid
    assert told(tmp_path).startswith("| – |") and told(tmp_path).endswith("| it does not hold at 84/s |")


def test_levels_that_ask_for_none_say_so(tmp_path: Path) -> None:
    records_of(tmp_path, [{}])
    other = read_records(tmp_path)[1]
    assert (other.tool, other.knee_rate, other.nulls["knee_rate"]) == (
        "wrk",
        None,
        "the level is not a search for a knee",
    )


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"rate":"1","seconds":5}', '{"rate":-1,"seconds":5}', "{"])
def test_any_knee_json_gives_a_record(text: str, tmp_path: Path) -> None:
    line = entry(tool="vegeta", level=LEVEL)
    write_run(tmp_path, [line])
    asked = line | {"rate": 1000}
    write_measurement(tmp_path, asked, output_of(asked, 1000))
    (tmp_path / line["dir"] / "knee.json").write_text(text)
    record = only_record(tmp_path)
    assert record.knee_rate is None and record.nulls["knee_rate"] and record.rate is None

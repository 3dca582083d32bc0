"""The spread of CPU time over worker processes, and the throttling of a quota, from records to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from turns_runs import facts_of, measured, record, report_of, service_of, table

from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.ranking import RankedRow, Spread, Throttled
from bench.analysis.tables.remarks import spread_of
from bench.core.service_settings import Settings
from bench.records.record import Record, from_line, to_line

TWO = {"WORKERS": "2"}
SPEEDS = {"uvicorn-asgi": 5000, "aiohttp": 4000}
TABLE = table(map(service_of, SPEEDS))
QUOTA = Settings({"CPU_QUOTA": "0.5"})


def used(*seconds: float, **changes: Any) -> Record:
    return record("uvicorn-asgi", process_cpu_s=seconds or None, **changes)


def test_the_workers_are_the_busiest_processes_and_an_idle_one_counts_with_nothing() -> None:
    found = spread_of([used(1.8, 0.2, 0.01, 0.0), used(1.9, 0.1)], TWO)
    assert found is not None and found.shares == pytest.approx((0.925, 0.075)) and found.uneven
    only = spread_of([used(2.0)], TWO)
    assert only is not None and only.shares == (1.0, 0.0)


def test_an_even_spread_is_not_called_uneven() -> None:
    found = spread_of([used(1.1, 0.9, 0.0)], TWO)
    assert found is not None and not found.uneven
    four = spread_of([used(0.9, 0.4, 0.4, 0.3)], {"WORKERS": "4"})
    assert four is not None and four.uneven


def test_without_two_workers_or_enough_cpu_time_nothing_is_said() -> None:
    assert spread_of([used(1.0)], {"WORKERS": "1"}) is None
    assert spread_of([used(0.05, 0.0)], TWO) is None
    assert spread_of([used()], TWO) is None
    assert spread_of([], TWO) is None


def test_the_services_own_setting_goes_before_the_runs() -> None:
    assert spread_of([used(1.0, 0.9, settings=Settings({"WORKERS": "2"}))], {"WORKERS": "1"}) is not None
    assert spread_of([used(1.0, 0.9, settings=Settings({"WORKERS": "1"}))], TWO) is None


def rows(changes: dict[str, Any]) -> dict[str, RankedRow]:
    facts = facts_of(TABLE, knobs=TWO)
    (found,) = judge_tables(facts, measured(SPEEDS, 8, changes={"uvicorn-asgi": changes}))
    return {row.service: row for row in found.rows}


def test_a_ranked_row_has_the_spread_of_uneven_workers() -> None:
    found = rows({"process_cpu_s": (1.9, 0.1, 0.0)})
    assert found["uvicorn-asgi-py313-debian"].remarks == (Spread(pytest.approx((0.95, 0.05))),)
    assert found["aiohttp-py313-debian"].remarks == ()
    assert rows({"process_cpu_s": (1.0, 0.9)})["uvicorn-asgi-py313-debian"].remarks == ()


@pytest.mark.parametrize(
    ("throttled_s", "remark"),
    [(1.25, Throttled(1.25)), (0.0, Throttled(0.0)), (None, Throttled(None, "not in this test"))],
)
def test_a_row_with_a_quota_has_how_long_it_was_throttled(throttled_s: float | None, remark: Throttled) -> None:
    found = rows({"settings": QUOTA, "throttled_s": throttled_s})
    assert found["uvicorn-asgi-py313-debian"].remarks == (remark,)


def test_the_report_has_a_table_of_processes(tmp_path: Path) -> None:
    changes = {"uvicorn-asgi": {"process_cpu_s": (1.9, 0.1)}, "aiohttp": {"process_cpu_s": (1.0, 1.0)}}
    records = measured(SPEEDS, 4, changes=changes)
    text = report_of(tmp_path, records, TABLE, stacks=list(SPEEDS), knobs=TWO)
    assert "CPU time by process" in text
    assert "| uvicorn-asgi-py313-debian | 95 and 5 %, uneven | – |" in text
    assert "| aiohttp-py313-debian | 50 and 50 % | – |" in text
    plain = report_of(tmp_path / "plain", records, TABLE, stacks=list(SPEEDS), knobs={"WORKERS": "1"})
    assert "CPU time by process" not in plain


def test_a_record_keeps_its_settings_and_processes() -> None:
    made = used(1.5, 0.5, settings=Settings({"WORKERS": "2"}))
    assert from_line(to_line(made), Record) == made

"""Runs side by side: the figures of each kind of measurement, without verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from golden import same_as
from rated_tables import LATE, TAILS_MS, distribution, rated, with_rounds
from turns_runs import facts_of, measured, record, service_of, table

from bench.analysis.runs.compatibility import ComparedRun
from bench.analysis.tables.latency import NOTHING_LOADED, AtCommonRates
from bench.records.outcome import NOT_RUN
from bench.records.record import Cause, Record
from bench.render.comparison import Sides, figures_of, runs_table
from bench.run.facts import RunFacts
from bench.tools.levels import Level

GOLDEN = Path(__file__).parent / "golden/side_by_side.md"
AIOHTTP, TORNADO = service_of("aiohttp"), service_of("tornado")


def sides(records: Sequence[Record], facts: RunFacts | None = None, loaded: AtCommonRates | None = None) -> Sides:
    return figures_of(
        ComparedRun(run=facts or RunFacts(), plan=(), records=records, services={}), loaded or NOTHING_LOADED
    )


def alone(stack: str, goodput: float, *, rate: float | None = None, **how: Any) -> list[Record]:
    """Three rounds of a service measured alone; with `rate` in an open loop."""
    made = [
        record(stack, round=number, goodput=goodput + 10 * number, cpu_s=0.5 / goodput, **how) for number in (1, 2, 3)
    ]
    if rate is None:
        return [replace(one, id=f"{one.id}-alone", mode="solo") for one in made]
    changed = {"mode": "solo", "tool": "vegeta", "level": Level.read(f"r{rate:.0f}"), "rate": rate, "connections": None}
    return [replace(one, id=f"{one.id}-r", **changed) for one in made]


def a_run(speed: float = 1.0, rate: int = 1800, late: bool = False) -> Sides:
    """All kinds: alone, in turns and at a common rate; `late`: aiohttp was loaded too late there."""
    tails = {name: own for name, own in TAILS_MS.items() if not (late and name == "aiohttp")}
    made = rated(tails, rates={"rates": {"share50": rate}})
    if late:
        made = with_rounds(made, "aiohttp", TAILS_MS["aiohttp"], range(2, 7), spread=0, causes=LATE, behind_ms=0.2)
    facts, records, loaded = made
    records += alone("aiohttp", 4000 * speed) + alone("aiohttp", 1000, rate=1000)
    return sides(
        [*records, *alone("tornado", 3000, causes=() if speed == 1 else (Cause("errors", "9 of 10"),))], facts, loaded
    )


def test_two_runs_stand_side_by_side_with_the_change() -> None:
    same_as(GOLDEN, runs_table({"old": a_run(), "new": a_run(1.2, 1850, late=True)}).markdown())


def test_more_runs_have_a_column_each_and_no_change() -> None:
    found = runs_table({str(number): sides(alone("aiohttp", 1000 * number)) for number in (1, 2, 3, 4, 5)})
    assert found.columns[3:] == ("1", "2", "3", "4", "5")
    assert [row[3][:5] for row in found.rows] == ["1,020", "500 µ"]
    assert [row[7][:5] for row in found.rows] == ["5,020", "100 µ"]


def test_a_figure_of_one_run_only_has_no_row_and_one_that_a_run_lacks_a_dash() -> None:
    both = [*alone("aiohttp", 1000), *alone("tornado", 900)]
    found = runs_table({"a": sides(both), "b": sides(both), "c": sides(alone("uvicorn-asgi", 500) + both[:3])})
    assert [(row[1], row[5] == "–") for row in found.rows] == [
        (AIOHTTP, False),
        (AIOHTTP, False),
        (TORNADO, True),
        (TORNADO, True),
    ]
    lone = runs_table({"a": sides(both[:3]), "b": sides(both[3:])})
    assert not lone.rows and lone.notes[0] == "The runs have no measured figure in common."


def in_turns(**changes: Any) -> dict[str, str]:
    """The figures of aiohttp in a table in turns whose windows have these facts."""
    records = measured({"aiohttp": 4000.0, "tornado": 3000.0}, 6, changes={"aiohttp": changes})
    found = sides(records, facts_of(table([AIOHTTP, TORNADO])))
    assert {key.load for key in found} == {"json wrk, 16 connections, in turns"}
    return {key.figure: side.words for key, side in found.items() if key.service == AIOHTTP}


def test_the_speed_that_ranks_is_shown_if_the_whole_table_has_it() -> None:
    speeds = {"aiohttp": {"speed": 5000.0, "goodput": 4000.0}, "tornado": {"speed": 3000.0}}
    records = measured({"aiohttp": 4000.0, "tornado": 3000.0}, 6, changes=speeds)
    first = next(side.words for side in sides(records, facts_of(table([AIOHTTP, TORNADO]))).values())
    assert first == "5,000"
    assert in_turns(speed=5000.0, goodput=4000.0)["requests/s"] == "4,000"


def test_windows_that_do_not_count_have_their_causes_instead() -> None:
    assert in_turns(causes=(Cause("errors", "9 of 10"),)) == dict.fromkeys(("requests/s", "CPU per request"), "errors")
    assert in_turns(cpu_s=None)["CPU per request"] == "no CPU per request"


def test_a_service_that_the_load_generator_limited_has_a_lower_bound_and_no_change() -> None:
    limited = {"aiohttp": {"causes": (Cause("loadgen-bound", "wrk"),), "speed": 5000.0, "server_busy_ratio": 0.5}}
    records = measured({"aiohttp": 5000.0, "tornado": 3000.0}, 6, changes=limited | {"tornado": {"speed": 3000.0}})
    run = sides(records, facts_of(table([AIOHTTP, TORNADO])))
    row = runs_table({"a": run, "b": run}).rows[0]
    assert row[1:] == (AIOHTTP, "requests/s", "at least 5,000", "at least 5,000", "–")


def test_a_service_that_was_never_begun_has_no_figure() -> None:
    lost = {"outcome": NOT_RUN, "valid": False, "causes": (Cause(NOT_RUN, "no time left"),)}
    never = [replace(one, **lost) for one in alone("aiohttp", 1000)]
    assert {side.words for side in sides(never).values()} == {"not run"}
    records = measured({"aiohttp": 4000.0, "tornado": 3000.0}, 3)
    records = [replace(one, **lost) if one.service == TORNADO else one for one in records]
    assert {key.service for key in sides(records, facts_of(table([AIOHTTP, TORNADO])))} == {AIOHTTP}


def test_too_few_requests_have_no_percentile() -> None:
    facts, records, loaded = rated()
    few = {name: distribution(0.5, 2.0, requests=50) for name in loaded.distributions}
    found = sides(records, facts, AtCommonRates(few, loaded.rates))
    assert {key.figure for key in found} == {"requests/s", "CPU per request", "p50"}

"""The self-test of known answers: what each table must show, and that each promise can be missed."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from captured import Capture
from make_plans import MATRIX, plan
from make_run import entry
from text_files import written
from turns_runs import facts_of, record, table

from bench.analysis.runs.compatibility import ComparedRun
from bench.analysis.tables.judge import judge_tables
from bench.core.errors import UserError
from bench.records.record import Cause, Record
from bench.words.remarks import note_of
from calibration.__main__ import judge_verb
from calibration.truths import (
    FIRST,
    SECOND,
    TRUTHS,
    Result,
    Same,
    Truth,
    Window,
    report,
    role_of,
    table_of,
    truth_of,
    truths,
)

NAMES = {role: f"uvicorn-synthetic-{role}-py313-debian" for role in (FIRST, SECOND)}
KNOWN = {truth.scenario: truth for truth in TRUTHS}


def window(role: str, goodput: float, scenario: str = "alone-20", **changes: Any) -> Record:
    line = entry("uvicorn-asgi", scenario, level="c16") | {"service": NAMES[role]}
    used = {"speed": goodput, "server_cpu_s": 0.01, "loadgen_cpu_s": 0.01, "server_busy_ratio": 0.1}
    return record("uvicorn-asgi", line=line, goodput=goodput, **{**used, "foreign_ratio": 0.01, **changes})


def lines(verdict: str, first_note: str = "", a: str = FIRST) -> list[dict[str, Any]]:
    b = SECOND if a == FIRST else FIRST
    notes = {FIRST: first_note, SECOND: None}
    services = [{"kind": "service", "service": NAMES[role], "note": note} for role, note in notes.items()]
    return [*services, {"kind": "contrast", "a": NAMES[a], "b": NAMES[b], "verdict": verdict}]


def result(
    scenario: str, rates: Mapping[str, Sequence[float]], verdict: str, note: str = "", a: str = FIRST, **changes: Any
) -> Result:
    """The result of a table whose windows have these rates, by role."""
    windows = [window(role, rate, scenario, **changes) for role, group in rates.items() for rate in group]
    return Result(KNOWN[scenario], (table_of(windows, lines(verdict, note, a)),))


CASES = tomllib.loads(Path(__file__).with_name("truths_selftest.toml").read_text(encoding="utf-8"))
RIGHT = [result(**case) for case in CASES["right"]]
LIES = {name: result(**case) for name, case in CASES["lies"].items()}


def test_what_is_true_holds() -> None:
    text, holds = report(RIGHT)
    assert holds and "MISSED" not in text
    assert "| alone-20 | one request at a time, 20 ms each: at most 50/s" in text
    assert "| first 47.0 to 50.0/s; second 46.0 to 46.0/s | 3 in 1 | 0 | 0 | 0 of 3 | 0 | 0 | 0 s | holds |" in text
    assert "0 of 2 tables of services that are the same have a false verdict (95 % interval 0.0%" in text


@pytest.mark.parametrize("name", LIES)
def test_what_is_not_true_is_missed(name: str) -> None:
    assert not LIES[name].holds
    text, holds = report([*RIGHT, LIES[name]])
    assert not holds
    assert text.count("MISSED") == 1


def test_windows_with_more_than_can_be_are_named() -> None:
    text, _ = report([LIES["its speed above what can be"], LIES["one window above what can be"]])
    assert "r01-b1-1-" in text
    assert text.index("51.2 requests/s, ranked as 51.2/s") < text.index("47.0 requests/s, ranked as 51.2/s")
    assert "51.2 requests/s, ranked as 51.2/s, where 50.0/s can be" in text
    many = result("alone-20", {FIRST: [51.2] * 25, SECOND: [46.0]}, "no winner")
    text, _ = report([many])
    assert text.count("where 50.0/s can be") == 20
    assert text.endswith("- and 5 more windows")


def test_the_speed_of_what_a_clock_gives_may_be_above_its_rate_and_its_requests_may_not() -> None:
    word = lines("no winner")
    both = ([window(role, rate, "bursts-800", speed=880.0) for role in NAMES] for rate in (786.0, 801.0))
    caught_up, impossible = (table_of(windows, word) for windows in both)
    assert Result(KNOWN["bursts-800"], (caught_up,)).holds
    assert not Result(KNOWN["bursts-800"], (impossible,)).holds


def test_each_truth_can_be_missed() -> None:
    assert {one.truth.scenario for one in LIES.values()} == KNOWN.keys() - {"one-coin"}


@pytest.mark.parametrize(("false", "tables", "few"), [(1, 20, True), (5, 60, True), (8, 60, False), (2, 2, False)])
def test_false_words_by_chance_are_counted_over_all_tables(false: int, tables: int, few: bool) -> None:
    right, wrong = (table_of([window(r, 2500.0) for r in NAMES], lines(word)) for word in ("no winner", "faster"))
    found = Result(KNOWN["one-coin"], (*[wrong] * false, *[right] * (tables - false)))
    assert found.false == false and found.holds
    text, holds = report([found])
    assert holds is few
    assert f"{false} of {tables} tables of services that are the same have a false verdict" in text


def test_the_least_allows_for_timer_and_cpu_of_server_and_tool() -> None:
    serves = KNOWN["at-least-20"].serves[FIRST]
    assert serves.most == pytest.approx(800)
    assert serves.at_least(0.0) == pytest.approx(0.9 * 16 / 0.022)
    assert serves.at_least(500e-6) == pytest.approx(0.9 * 16 / 0.030)
    assert KNOWN["busy-against-idle"].serves[FIRST].at_least(0.0) == 0
    slow = window(FIRST, 500.0, "at-least-20", server_cpu_s=0.5, loadgen_cpu_s=0.5, successes=2000)
    assert Result(KNOWN["at-least-20"], (table_of([slow], []),)).count(Window.too_low) == 0


@pytest.mark.parametrize(("foreign", "low"), [(0.01, 1), (0.4, 0), (None, 0)])
def test_beside_other_programs_a_service_may_serve_less_and_never_more(foreign: float | None, low: int) -> None:
    windows = [window(FIRST, rate, "at-least-20", foreign_ratio=foreign) for rate in (300.0, 801.0)]
    found = Result(KNOWN["at-least-20"], (table_of(windows, []),))
    assert (found.count(Window.too_low), found.count(Window.impossible)) == (low, 1)


def test_what_the_gate_refuses_is_looked_at_all_the_same() -> None:
    refused = window(FIRST, 51.2, causes=[Cause("impossible", "51.2 responses/s, but at most 50 are possible")])
    assert Result(KNOWN["alone-20"], (table_of([refused], []),)).count(Window.impossible) == 1


def a_run(folder: Path, *names: str, verdict: str = "no winner") -> tuple[str, ComparedRun]:
    planned = [table(NAMES.values(), rounds=6, scenario=name) for name in names]
    records = [window(role, 47.0, name) for name in names for role in NAMES]
    words = [line | {"scenario": name} for name in names for line in lines(verdict)]
    files = {"run.json": "{}", "verdicts.jsonl": "".join(json.dumps(line) + "\n" for line in words)}
    for number, one in enumerate(records):
        times = {"start_ns": 10**9, "end_ns": (3 + number) * 10**9}
        files[f"raw/r01/b1/{one.scenario}/wrk-c16/w1/{one.service}/tool.json"] = json.dumps(times)
    written(folder, files)
    return str(folder), ComparedRun(run=facts_of(*planned), plan=(), records=records, services={})


def test_several_runs_are_one_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    one, two = a_run(tmp_path / "one", "alone-20", "json"), a_run(tmp_path / "two", "alone-20", "coin-301", "coin-7")
    runs = dict((one, two))
    monkeypatch.setattr("calibration.truths.read_compared", runs.__getitem__)
    text, holds = truths([*runs])
    assert holds and "json" not in text
    assert "| 4 in 2 | 0 | 0 | 0 of 4 | 0 | 0 | 6 s | holds |" in text
    assert "0 of 2 tables of services" in text and "one: 0 s of wall time in turns" in text
    assert judge_verb(["truths", *runs]) == 0
    assert capsys.readouterr().out.startswith(text)


def test_a_false_word_of_one_run_is_the_exit_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = dict([a_run(tmp_path / "one", "alone-20"), a_run(tmp_path / "two", "alone-20", verdict="slower")])
    monkeypatch.setattr("calibration.truths.read_compared", runs.__getitem__)
    assert judge_verb(["truths", *runs]) == 1


def test_a_run_of_something_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, facts = a_run(tmp_path / "one", "json")
    monkeypatch.setattr("calibration.truths.read_compared", lambda _: facts)
    with pytest.raises(UserError, match="none of the tables"):
        truths([folder])


@pytest.mark.parametrize(("goodput", "holds"), [((5000.0, 400.0), False), ((400.0, 5000.0), True)])
def test_the_harness_own_verdict_on_an_idle_service_is_judged(goodput: tuple[float, float], holds: bool) -> None:
    # Whether the service needs little CPU time because it waits: the run's own report decides.
    rates = dict(zip((FIRST, SECOND), goodput, strict=True))
    rng = random.Random(7)
    records = [
        replace(window(role, rate * rng.gauss(1, 0.02), "nagle", server_busy_ratio=rate / 5050), round=number)
        for number in range(1, 7)
        for role, rate in rates.items()
    ]
    (ranking,) = judge_tables(facts_of(table(NAMES.values(), rounds=6, scenario="nagle")), records)
    said = [{"kind": "service", "service": row.service, "note": note_of(row)} for row in ranking.rows]
    said += [{"kind": "contrast", "a": one.a, "b": one.b, "verdict": one.verdict} for one in ranking.contrasts]
    assert Result(KNOWN["nagle"], (table_of(records, said),)).holds is holds


def test_roles_and_truths_are_told_by_names() -> None:
    assert [role_of(name) for name in (*NAMES.values(), "aiohttp-py313-debian")] == [FIRST, SECOND, ""]
    told = {"coin-301": "coin", "one-coin-7": "one-coin", "alone-20": "alone-20", "alone-30": "", "json": ""}
    assert {name: truth_of(name) for name in told} == told


def test_the_preset_measures_every_truth_with_both_roles() -> None:
    made = plan(preset="selftest-truths")
    assert {truth_of(one.first.scenario) for one in made.tables} == KNOWN.keys()
    for one in made.tables:
        assert {role_of(cell.service.name) for cell in one.cells} == {FIRST, SECOND}
        assert len(one.cells) == 2 and one.first.level.connections == 16
    assert made.turn_rounds == 6


def asked(scenario: str) -> str:
    return MATRIX.route_of(scenario)[1].path


def test_truths_are_those_of_the_queries() -> None:
    def most(truth: Truth, role: str) -> float:
        return round(truth.serves[role].most, 6)

    assert asked("alone-20") == "/synthetic?alone=20" and most(KNOWN["alone-20"], FIRST) == 50
    assert asked("at-least-20") == "/synthetic?at_least=20" and most(KNOWN["at-least-20"], SECOND) == 16 / 0.020
    assert asked("body-late-90") == "/synthetic?at_least=20&body=90"
    assert KNOWN["body-late-90"].serves[FIRST].wait_s == pytest.approx(0.020 + 0.090)
    assert "capacity=800" in asked("bursts-800") and most(KNOWN["bursts-800"], FIRST) == 800
    for name, parts in {
        "busy-against-idle": ("first.busy_us=500", "second.alone=2"),
        "idle-against-busy": ("first.busy_us=8000", "second.alone=2"),
        "database-against-busy": ("first.database_ms=2", "second.busy_us=8000"),
        "busy-against-database": ("first.busy_us=2000", "second.database_ms=8"),
    }.items():
        assert asked(name) == f"/synthetic?{'&'.join(parts)}"
        for part in parts:
            role, what = part.split(".")
            word, _, size = what.partition("=")
            assert KNOWN[name].serves[role].wait_s == pytest.approx(int(size) / (1e6 if word == "busy_us" else 1e3))
    assert KNOWN["coin"].same is KNOWN["one-coin"].same is Same.BY_CHANCE

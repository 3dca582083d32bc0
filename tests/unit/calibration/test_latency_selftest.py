"""The arithmetic of the latency self-tests: the known truths, and what does not count as a measurement."""

from __future__ import annotations

import json
import math
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from captured import Capture
from make_plans import MATRIX, plan
from make_run import entry, plan_lines, write_measured
from places import ROOT

from bench.core.errors import UserError
from bench.load.knee_search import next_search_step
from bench.records.knee import CONFIRMATIONS, Trial
from bench.records.record import Cause, Record
from bench.run.reader import read_run, read_service
from bench.tools.levels import Level
from bench.tools.send_lag import quantile
from bench.validity.run_records import build_records, service_names
from calibration.__main__ import judge_verb
from calibration.latency import LATENCY, STALLED, Promise, from_csv, result_of, stalls_caught


@pytest.fixture
def records(tmp_path: Path) -> list[Record]:
    lines = plan_lines((("uvicorn-asgi", name, "vegeta", "r500") for name in ("stall", "mix", "exact")), 2)
    source = read_run(str(write_measured(tmp_path / "run", lines, 500)))
    return list(build_records(source, {n: read_service(source.path, n) for n in service_names(source)}))


def true_latencies(query: str, rate: int = 500, requests: int = 10_000) -> list[float]:
    """The wait that the app itself causes for each of the requests, which are evenly spaced."""
    sys.path.insert(0, str(ROOT / "services"))
    app = runpy.run_path(str(ROOT / "services/frameworks/synthetic/app.py"))
    sys.path.remove(str(ROOT / "services"))
    asked = app["Behaviour"](query)
    places = [asked.next() for _ in range(requests)]
    return [app["_drawn_s"](asked.exact, one) + asked.wait_s(one, 1234.5 + i / rate) for i, one in enumerate(places)]


def latencies_of(record: Record) -> list[float]:
    return true_latencies(MATRIX.routes[record.scenario].exchange.path.partition("?")[2])


PERCENTILES = [promise for promise in LATENCY if promise.percentile]
(KNEE,) = (promise for promise in LATENCY if not promise.percentile)


@pytest.mark.parametrize("promise", PERCENTILES, ids=lambda p: f"{p.scenario} {p.figure}")
def test_the_truth_is_what_the_app_does(promise: Promise, records: list[Record]) -> None:
    found = result_of(promise, records, latencies_of)
    assert found.value == pytest.approx(found.promise.truth, rel=0.005)
    assert found.holds and "holds" in found.row()
    assert found.requests == 20_000


@pytest.mark.parametrize(
    ("times", "most", "more"), [(1, math.inf, 0.06), (0.9, math.inf, 0), (0, math.inf, 0), (1, 0.04, 0.003)]
)
def test_what_hides_or_invents_latency_is_missed(times: float, most: float, more: float, records: list[Record]) -> None:
    for promise in (promise for promise in PERCENTILES if promise.percentile == 0.99):
        found = result_of(promise, records, lambda r: [min(times * one, most) + more for one in latencies_of(r)])
        assert not found.holds and "MISSED" in found.row()


@pytest.mark.parametrize("truth", [0.0002, 0.001, 0.010])
def test_a_tenth_more_is_missed_and_what_all_requests_take_is_not(truth: float, records: list[Record]) -> None:
    (promise,) = (one for one in PERCENTILES if one.truth == truth)
    for share, holds in ((0.09, True), (0.11, False), (-0.09, True), (-0.11, False)):
        # Server and client themselves take 0.3 ms.
        found = result_of(promise, records, lambda r, s=share: [0.0003 + w * (1 + s) for w in latencies_of(r)])  # type: ignore[misc]
        assert found.holds == holds


def test_a_stall_of_the_client_has_to_be_called_in_every_round(records: list[Record]) -> None:
    late = (Cause("load not as requested", "the client was late by 90 ms (p99)"),)
    exact = [one for one in records if one.scenario == "exact"]
    stalled = [replace(one, level=Level.read("r501"), valid=False, causes=late) for one in exact]
    row, holds = stalls_caught([*records, *stalled])
    assert holds and row[2:4] == ["2", "2"] and "holds" in row
    row, holds = stalls_caught([stalled[0], replace(stalled[1], valid=True, causes=())])
    assert not holds and row[2:4] == ["2", "1"] and "MISSED" in row
    assert not stalls_caught(records)[1]
    # They are no part of the percentiles.
    promise = next(one for one in PERCENTILES if one.scenario == "exact")
    assert result_of(promise, [*records, *stalled], latencies_of).holds


def test_what_is_too_little_or_not_valid_or_not_in_the_run_is_no_measurement(records: list[Record]) -> None:
    few = result_of(LATENCY[0], records, lambda r: latencies_of(r)[:4999])
    assert (few.value, few.holds) == (None, False) and "needs 5000" in " ".join(few.row())
    bad = replace(records[0], valid=False, causes=(Cause("errors", "some"),))
    wrong = result_of(LATENCY[0], [bad, *records[1:]], latencies_of)
    assert not wrong.holds and "round 1 is not valid (errors: some)" in " ".join(wrong.row())
    assert not result_of(LATENCY[0], records[1:2], lambda r: [0.9]).holds


KNEE_LEVEL = "knee-p99-100ms"


def test_the_search_finds_the_knee_that_the_app_has() -> None:
    trials: list[Trial] = []
    while not (step := next_search_step(trials, 0.1)).done:
        latencies = true_latencies("capacity=900", step.rate, step.rate * step.seconds)
        trials.append(Trial(step.rate, 1.0, 0.0, quantile(sorted(latencies), 0.99)))
    assert step.reason is None
    assert abs(step.rate - KNEE.truth) <= KNEE.allowed == 45


def knees(record: Record, *rates: float | None) -> list[Record]:
    """A record per round with its knee; None: no rate held."""
    searched = replace(record, scenario="capacity-900", level=Level.read(KNEE_LEVEL))
    known = {name: why for name, why in record.nulls.items() if name != "knee_rate"}
    return [
        replace(searched, round=number, knee_rate=rate, nulls=known | ({} if rate else {"knee_rate": "p99 2 s"}))
        for number, rate in enumerate(rates, 1)
    ]


FOUND = [
    ((878, 878, 878, 878), "| 878/s | -22/s (-2.4 %) | 45.0/s | holds |"),
    ((840, 840, 840, 840), "| 840/s | -60/s (-6.7 %) | 45.0/s | MISSED |"),
    ((878, 878, None, 878), "| not measured: 878/s is not confirmed: round 3: p99 2 s |  | 45.0/s | MISSED |"),
    ((878, 878, 878), "| not measured: 878/s is not confirmed: 3 later rounds are needed |  | 45.0/s | MISSED |"),
    ((None, None), "| not measured: p99 2 s |  | 45.0/s | MISSED |"),
    ((), "| not measured: not in this run |  | 45.0/s | MISSED |"),
]


@pytest.mark.parametrize(("rates", "said"), FOUND)
def test_a_knee_holds_where_it_is_near_and_confirmed(
    rates: tuple[float | None, ...], said: str, records: list[Record]
) -> None:
    found = result_of(KNEE, knees(records[0], *rates), latencies_of)
    assert f"| {' | '.join(found.row())} |".startswith(f"| capacity-900 | knee | 900/s {said}")
    assert found.holds == ("holds" in said)


def test_vegetas_csv() -> None:
    good = "1700000000000000000,200,1500000,0,13,,SGVsbG8=,,0,GET,http://a/,eA==\n"
    assert from_csv(f'{good}17,0,30000000000,0,0,"a, b",,,1,GET,,\n') == [0.0015, 30.0]


def test_the_preset_has_whole_stalls_and_requests_enough() -> None:
    made = plan(preset="selftest-latency")
    assert {s.stack for s in made.services} == {"uvicorn-synthetic"}
    assert {cell.scenario for cell in made.cells} == {promise.scenario for promise in LATENCY}
    assert made.preset.duration % 10 == 0
    percentiles, knees = made.cells[:4], made.cells[4:]
    assert [cell.level.text for cell in percentiles].count(STALLED) == 1
    assert all((cell.level.rate or 0) * made.preset.duration >= 5000 for cell in percentiles)
    assert [cell.level.text for cell in knees] == [KNEE_LEVEL]
    assert made.preset.rounds > CONFIRMATIONS


def test_what_only_the_whole_run_shows_is_no_measurement_either(tmp_path: Path, capsys: Capture) -> None:
    """A busy host invalidates its round, which a single measurement does not show."""
    folder = write_measured(tmp_path / "run", [entry("uvicorn-asgi", "stall", "vegeta", "r500")], 500)
    assert judge_verb(["latency", str(folder)]) == 1
    assert "is not valid" not in capsys.readouterr().out
    facts = json.loads((folder / "run.json").read_text())
    facts["knobs"] = facts.get("knobs", {}) | {"MAX_FOREIGN_CPU": "0"}
    (folder / "run.json").write_text(json.dumps(facts))
    assert judge_verb(["latency", str(folder)]) == 1
    assert "| not measured: round 1 is not valid (host: " in capsys.readouterr().out


@pytest.mark.parametrize("argv", [[], ["latency"], ["power", "results/x"], ["latency", "no-such-run"]])
def test_user_errors_are_refused(argv: list[str]) -> None:
    with pytest.raises(UserError):
        judge_verb(argv)

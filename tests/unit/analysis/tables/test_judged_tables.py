"""From the windows of tables in turns to rankings, verdicts, and which tables need no more rounds."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from make_run import write_run
from turns_runs import facts_of, measured, ranking_of, ranking_text, ranking_texts, record, service_of, table

from bench.analysis.tables.judge import as_lower_bound, judge_tables, settled_tables, without_credit
from bench.analysis.tables.observations import connections_kept
from bench.analysis.tables.ranking import (
    ByLoadgen,
    Ceiling,
    Cheapest,
    Idles,
    LeftOut,
    Metric,
    NoFigure,
    RankedRow,
    Ranking,
    Unranked,
)
from bench.export.judged_run import judge_run, verdict_lines
from bench.plan.interim_looks import table_looks
from bench.records.record import Cause, Record
from bench.run.facts import PlannedTable
from bench.stats.estimates import Interval
from bench.stats.table_fit import TableFit
from bench.stats.table_verdicts import EQUAL, FASTER, NO_WINNER, SLOWER, Difference, differences
from bench.tools.levels import Level

FIVE = {"gunicorn-gevent-flask": 1900, "gunicorn-sync-flask": 1000, "uvicorn-asgi": 5400, "aiohttp": 5380}
FIVE |= {"tornado": 3000}
TWO = ("aiohttp", "tornado")
ERRORS = [Cause("errors", "40 of 400 got 500")]
BOUND = [Cause("loadgen-bound", "wrk's CPUs were 99 % busy")]


def stack_of(service: str) -> str:
    return service.removesuffix("-py313-debian")


def rows_of(ranking: Ranking) -> dict[str, RankedRow]:
    return {stack_of(row.service): row for row in ranking.rows}


def judged(records: Sequence[Record], stacks: Iterable[str] = FIVE, **planned: Any) -> Ranking:
    """The ranking of a table of these stacks."""
    (found,) = judge_tables(facts_of(table(map(service_of, stacks), **planned)), records)
    return found


def verdicts_of(ranking: Ranking) -> dict[tuple[str, str], str]:
    return {(stack_of(one.a), stack_of(one.b)): one.verdict for one in ranking.contrasts}


def test_requests_that_slow_down_all_services_from_round_to_round_are_in_one_sentence() -> None:
    steady = measured(FIVE, 8)
    filling = [replace(one, goodput=one.goodput * (1 - 0.04 * (one.round - 1))) for one in steady if one.goodput]
    names = [service_of(stack) for stack in FIVE]
    for records, drift, sentences in ((steady, None, 0), (filling, pytest.approx(-0.28, abs=0.04), 1)):
        (text,) = ranking_texts(facts_of(table(names, 12, waits=True)), records)
        assert text.ranking.drift == drift
        assert sum("8 rounds, requests/s of all services fell by 2" in words for words in text.sentences) == sentences


def test_five_services_have_their_order_their_tiers_and_their_differences() -> None:
    found = ranking_of(FIVE, 8)
    assert [row.tier for row in found.rows] == [1, 1, 2, 3, 4]
    assert [row.rank for row in found.rows] == [1, 2, 3, 4, 5]
    assert {stack_of(row.service) for row in found.rows[:2]} == {"uvicorn-asgi", "aiohttp"}
    assert (str(found.metric), found.rounds, found.look, found.settled) == ("CPU per request", 8, 8, True)
    last = found.rows[-1]
    assert last.interval is not None and last.interval[0] < last.difference < last.interval[1]  # type: ignore[operator]
    assert last.difference == pytest.approx(1000 / 5400 - 1, abs=0.01)
    assert last.goodput is not None and last.goodput.low < 1000 < last.goodput.high
    assert last.cpu_us is not None and last.cpu_us.mean == pytest.approx(1000, rel=0.03)
    verdicts = verdicts_of(found)
    assert len(verdicts) == 10
    assert verdicts["gunicorn-gevent-flask", "gunicorn-sync-flask"] == "slower"
    assert verdicts["gunicorn-gevent-flask", "uvicorn-asgi"] == "faster"
    tie = next(one for one in found.contrasts if one.verdict == "equal")
    assert tie.interval is not None and -0.03 < tie.interval[0] < tie.interval[1] < 0.03
    tied = next(row for row in found.rows if row.rank == 2)
    assert tied.smallest_visible == tie.smallest_visible and found.rows[0].smallest_visible is None
    assert all(row.smallest_visible is None for row in found.rows if row not in (found.rows[0], tied))
    assert tie.smallest_visible is not None and 0.02 < tie.smallest_visible < 0.08
    assert all(one.smallest_visible is None for one in found.contrasts if one is not tie)


def test_twice_the_same_service_is_never_told_apart() -> None:
    found = [ranking_of(dict.fromkeys(TWO, 5000), 8, seed=seed) for seed in range(20)]
    assert [verdicts_of(one) for one in found] == [{TWO: "equal"}] * 20


def test_noise_alone_is_no_difference_and_hides_no_figure() -> None:
    for seed in range(10):
        found = ranking_of(dict.fromkeys(FIVE, 4000), 12, spread=0.25, noise=0.2, seed=seed)
        assert set(verdicts_of(found).values()) == {"no winner"}
        assert {row.tier for row in found.rows} == {1}
        assert all(row.goodput and row.cpu_us and row.rank for row in found.rows)
        assert all(one.smallest_visible and one.smallest_visible > 0.1 for one in found.contrasts)
        # The last look: no more rounds are planned.
        assert found.settled


def test_a_service_whose_windows_are_refused_has_its_cause_and_no_rank() -> None:
    text = ranking_text(FIVE, 8, changes={"tornado": {"causes": ERRORS}})
    found = text.ranking
    assert [row.rank for row in found.rows] == [1, 2, 3, 4, None]
    last = found.rows[-1]
    assert (last.tier, last.difference, last.goodput, last.cpu_us) == (None, None, None, None)
    assert (last.service, last.windows, last.left_out) == (service_of("tornado"), 0, 16)
    assert last.remarks == (NoFigure(ERRORS[0]),)
    assert len(found.contrasts) == 6
    # The failed service does not prevent the others from being settled.
    assert found.settled
    assert "Not ranked: tornado (errors)." in text.sentences[0]


def test_some_refused_windows_are_left_out_and_counted() -> None:
    refused = {record.id: record for record in measured(FIVE, 2, changes={"tornado": {"causes": ERRORS}})}
    row = rows_of(judged([refused.get(record.id, record) for record in measured(FIVE, 8)]))["tornado"]
    assert (row.windows, row.left_out, row.remarks) == (12, 4, (LeftOut(4, 16, "errors"),))
    assert row.tier == 2
    # Its rank is that of the other windows, as the remark says; a mean of these would be taken for that of all.
    assert row.goodput is None and row.cpu_us is None


def test_noise_of_the_host_is_no_cause_and_the_load_generators_limit_makes_requests_per_second_a_lower_bound() -> None:
    host = [Cause("host", "foreign CPU 12 %")]
    found = ranking_of(FIVE, 8, changes={"tornado": {"causes": host}, "aiohttp": {"causes": BOUND}})
    rows = rows_of(found)
    assert [row.rank for row in found.rows] == [1, 2, 3, 4, 5]
    assert rows["tornado"].goodput is not None and rows["tornado"].remarks == ()
    assert rows["aiohttp"].lower_bound and not rows["tornado"].lower_bound
    assert rows["aiohttp"].remarks == (ByLoadgen(16, 16, "wrk's CPUs were 99 % busy"),)
    waiting = ranking_of(FIVE, 8, waits=True, changes={"aiohttp": {"causes": BOUND}})
    assert rows_of(waiting)["aiohttp"].rank and rows_of(waiting)["aiohttp"].lower_bound
    verdicts = verdicts_of(waiting)
    assert verdicts["uvicorn-asgi", "aiohttp"] == NO_WINNER and verdicts["gunicorn-sync-flask", "aiohttp"] == FASTER


@pytest.mark.parametrize("changes", [{"waits": True}, {"changes": {"tornado": {"cpu_s": None}}}])
def test_goodput_judges_where_servers_wait_or_the_cpu_of_one_is_unknown(changes: dict[str, Any]) -> None:
    text = ranking_text(FIVE, 8, **changes)
    found = text.ranking
    assert (str(found.metric), found.rows[-1].service) == ("goodput", service_of("gunicorn-sync-flask"))
    assert all(row.rank and row.goodput for row in found.rows)
    # On a route that waits, goodput is the metric anyway and needs no explanation.
    why = ["CPU per request is unknown (not in this test), so requests/s are compared."]
    assert [words for words in text.sentences if "unknown" in words] == ([] if "waits" in changes else why)


@pytest.mark.parametrize(("level", "successes"), [("c8", 29), ("c64", 127)])
def test_a_thin_window_is_left_out(level: str, successes: int) -> None:
    records = measured(FIVE, 4)
    connections = int(level[1:])
    records[0] = replace(records[0], connections=connections, successes=successes)
    records[5] = replace(records[5], connections=connections, successes=successes + 1)
    row = rows_of(judged(records))["gunicorn-gevent-flask"]
    assert (row.windows, row.left_out) == (7, 1)
    assert row.remarks == (LeftOut(1, 8, "too few responses"),)
    # The windows with few responses are the slow ones: a mean without them would be too high.
    assert row.goodput is not None
    assert row.goodput.mean == pytest.approx(fmean(one.goodput or 0.0 for one in records if one.service == row.service))


def test_before_the_first_look_there_are_figures_and_no_verdict() -> None:
    for rounds in (1, 2, 3):
        text = ranking_text(FIVE, rounds)
        found = text.ranking
        assert (found.look, found.settled, found.rounds) == (None, False, rounds)
        assert set(verdicts_of(found).values()) == {"no winner"}
        assert all(row.goodput and row.cpu_us and row.rank and row.tier is None for row in found.rows)
        assert all(row.interval is None for row in found.rows)
        words = "1 round" if rounds == 1 else f"{rounds} rounds"
        assert text.sentences == (f"Not enough data for a ranking: {words}; the first verdicts come after 4.",)
    one = ranking_of(FIVE, 1).rows[0]
    # Two windows, but one round.
    assert one.goodput is not None and one.goodput.low == one.goodput.mean == one.goodput.high
    assert json.dumps([*verdict_lines(text)], allow_nan=False)


def test_looks_are_planned_and_bounded_by_the_most_rounds() -> None:
    looks = [table_looks(most) for most in (1, 2, 4, 5, 7, 8, 12, 20)]
    assert looks == [*[(6,)] * 4, (7,), (6, 8), (6, 8, 12), (6, 8, 12, 20)]
    assert all(later > earlier for most in range(1, 40) for earlier, later in pairwise(table_looks(most)))


def test_rounds_after_a_look_do_not_change_its_verdicts() -> None:
    records = measured(FIVE, 5)
    facts = facts_of(table(map(service_of, FIVE)))
    (found,) = judge_tables(facts, records)
    (before,) = judge_tables(facts, [one for one in records if one.round < 5])
    assert (found.rounds, found.look) == (5, 4)
    assert found.contrasts == before.contrasts
    assert settled_tables(facts, records) == settled_tables(facts, [one for one in records if one.round < 5])


def test_a_round_counts_when_it_is_complete() -> None:
    records = measured(FIVE, 4)
    begun = [one for one in records if one.round < 4 or one.service != service_of("tornado")]
    facts = facts_of(table(map(service_of, FIVE)))
    assert judge_tables(facts, begun)[0].look is None
    assert judge_tables(facts, records)[0].look == 4


def test_what_is_settled_is_told_by_table() -> None:
    clear, unclear = {"aiohttp": 5000, "tornado": 3000}, {"aiohttp": 5000, "tornado": 5150}
    names = [*map(service_of, clear)]
    facts = facts_of(table(names), table(names, scenario="plaintext"))
    records = measured(clear, 4) + measured(unclear, 4, scenario="plaintext", spread=0.05)
    assert settled_tables(facts, records) == {("json", "wrk", Level.read("c16"))}
    assert [ranking.settled for ranking in judge_tables(facts, records)] == [True, False]
    most = measured(unclear, 12, scenario="plaintext", spread=0.05)
    assert ("plaintext", "wrk", Level.read("c16")) in settled_tables(facts, most)
    assert settled_tables(facts, []) == set()


def test_services_that_never_share_a_window_are_compared_through_others() -> None:
    records = measured(FIVE, 8)
    first, rest = service_of("tornado"), service_of("aiohttp")
    blocks = [replace(one, block=2) if one.service == (first, rest)[one.round % 2] else one for one in records]
    halves = [one for one in blocks if not (one.block == 2 and one.window == 2)]
    assert all(row.rank for row in judged(halves).rows)


def test_a_service_without_a_shared_window_has_no_rank_and_still_its_figures() -> None:
    name = service_of("tornado")
    records = [replace(one, block=2) if one.service == name else one for one in measured(FIVE, 8)]
    (text,) = ranking_texts(facts_of(table(map(service_of, FIVE))), records)
    found, last = text.ranking, text.ranking.rows[-1]
    assert (last.service, last.rank, last.remarks) == (name, None, (Unranked.APART,))
    assert last.goodput is not None
    assert not found.settled
    assert json.dumps([*verdict_lines(text)], allow_nan=False)


def test_what_was_never_measured_says_why() -> None:
    names = [*map(service_of, FIVE), "absent-py313-debian"]
    facts = facts_of(table(names))
    (found,) = judge_tables(facts, measured(FIVE, 4), {names[-1]: "build failed: no wheel"})
    assert (found.rows[-1].remarks, found.rows[-1].rank) == ((NoFigure("build failed: no wheel"),), None)
    (alone,) = ranking_texts(facts, measured({"aiohttp": 5000}, 4))
    assert {*alone.notes.values()} == {"there is nothing to compare it with", "not measured"}
    assert alone.sentences[0].startswith("No service has a figure that can be ranked. Not ranked: ")
    (nothing,) = judge_tables(facts, [])
    assert (nothing.rounds, nothing.settled, nothing.contrasts) == (0, False, ())


def test_a_figure_with_fewer_than_three_rounds_has_their_lowest_and_highest() -> None:
    records = [record(stack, round=number, goodput=5000 + number) for number in (1, 2) for stack in TWO]
    goodput = rows_of(judged(records, TWO))["aiohttp"].goodput
    assert goodput is not None and (goodput.mean, goodput.low, goodput.high) == (5001.5, 5001, 5002)


def test_windows_of_other_modes_tables_and_services_say_nothing() -> None:
    records = measured(FIVE, 8)
    elsewhere: list[dict[str, Any]] = [{"level": Level.read("c99")}, {"service": "other"}]
    elsewhere += [{"mode": "solo", "goodput": 1.0, "cpu_per_success_s": 1.0}]
    other = [replace(one, **changes) for changes in elsewhere for one in records]
    other += measured({"aiohttp": 1}, 8, changes={"aiohttp": {"outcome": "not run", "causes": [Cause("not run", "")]}})
    assert judged([*other, *records]) == judged(records)


def test_the_lines_of_a_table_name_their_kind() -> None:
    lines = [*verdict_lines(ranking_text(FIVE, 8))]
    assert [line["kind"] for line in lines] == ["service"] * 5 + ["contrast"] * 10
    assert {line["settled"] for line in lines} == {True}
    assert all(not isinstance(v, float) or math.isfinite(v) for line in lines for v in line.values())
    contrast = lines[-1]
    shared = ("a", "b", "scenario", "tool", "level", "judge", "rounds", "verdict", "difference", "interval")
    assert {*shared, "confidence", "settled", "smallest_visible", "more_rounds", "kind"} == {*contrast}


def test_malformed_tables_of_run_json_are_left_out() -> None:
    good = table(["a", "b"])
    wrong: list[Any] = [None, 3, {}, good | {"services": "ab"}, good | {"rounds": True}, good | {"rounds": 0}]
    wrong += [good | {"tool": 3}, good | {"services": []}, good | {"services": ["a", 1]}, good | {"rounds": "4"}]
    (found,) = facts_of(*wrong, good).tables
    assert found == PlannedTable("json", "wrk", Level.read("c16"), False, ("a", "b"), 12, (4, 6, 8, 12))
    assert facts_of(good | {"looks": [6, 12]}).tables[0].looks == (6, 12)
    assert facts_of().tables == ()


def test_a_run_saves_the_answers_of_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_run(tmp_path / "a-run", [], tables_in_turns=[table(map(service_of, FIVE))])
    monkeypatch.setattr("bench.export.judged_run.reviewed", lambda *_: measured(FIVE, 8))
    (text,) = judge_run(folder).rankings
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    assert lines == json.loads(json.dumps([*verdict_lines(text)])) and len(lines) == 15


def test_the_differences_of_a_look_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # With 177 services there are 15,576 differences, which take most of a report's time.
    calls: list[float] = []

    def counted(fit: TableFit, level: float, **how: Any) -> Mapping[tuple[str, str], Difference]:
        calls.append(level)
        return differences(fit, level, **how)

    monkeypatch.setattr("bench.analysis.tables.judge.differences", counted)
    monkeypatch.setattr("bench.stats.table_verdicts.differences", counted)
    found = ranking_of({"aiohttp": 2000, "tornado": 1000, "uvicorn-asgi": 4000}, 8)
    assert [row.rank for row in found.rows] == [1, 2, 3]
    assert len(calls) == 1


def with_speed(record: Record, factor: float = 1, busy: float = 0.95, *causes: str) -> Record:
    """The record with the fields that current records have; its speed is `factor` times its requests/s."""
    speed = (record.goodput or 0.0) * factor
    nulls = {name: why for name, why in record.nulls.items() if name not in ("speed", "server_busy_ratio")}
    found = tuple(Cause(cause, "as made up") for cause in causes)
    return replace(record, speed=speed, server_busy_ratio=busy, nulls=nulls, causes=found, valid=not found)


def test_one_speed_ranks_busy_and_idle_services() -> None:
    # The idle one needs a quarter of the CPU per request, and serves a third of the requests.
    records = measured({"aiohttp": 2400, "tornado": 800}, 6, changes={"tornado": {"cpu_s": 1e-4}})
    found = judged([with_speed(one, busy=0.96 if "aiohttp" in one.service else 0.12) for one in records], TWO)
    assert found.metric is Metric.SPEED
    assert [stack_of(row.service) for row in found.rows] == ["aiohttp", "tornado"]
    (contrast,) = found.contrasts
    assert contrast.verdict == SLOWER
    (idles,) = found.rows[1].remarks
    assert isinstance(idles, Idles) and idles.busy == pytest.approx(0.12)
    assert found.rows[0].remarks == ()
    assert found.cheapest == Cheapest((service_of("tornado"),), pytest.approx(100), pytest.approx(100))


def test_a_speed_that_the_load_generator_limits_is_a_lower_bound() -> None:
    speeds = {"aiohttp": 2000, "tornado": 4000, "uvicorn-asgi": 8000}
    limited = (1, 0.6, "loadgen-bound")
    records = [with_speed(one, *(limited if "tornado" in one.service else ())) for one in measured(speeds, 6)]
    found = judged(records, speeds)
    slowest = {("aiohttp", "tornado"): FASTER, ("aiohttp", "uvicorn-asgi"): FASTER}
    assert verdicts_of(found) == slowest | {("tornado", "uvicorn-asgi"): NO_WINNER}
    row = rows_of(found)["tornado"]
    assert row.lower_bound and row.remarks == (ByLoadgen(12, 12, "as made up"),)


def test_what_an_idle_service_may_have_lost_to_other_programs_is_in_its_intervals() -> None:
    # Both serve 800/s by the clock; one waits longer for a CPU that another program uses, and catches up.
    waited = {"aiohttp": 1.03, "tornado": 1.08}
    even = measured(dict.fromkeys(TWO, 800), 6, spread=0.001, noise=0.001)
    alike = [replace(one, server="uvicorn", framework="app") for one in even]

    def called(busy: float) -> Ranking:
        return judged([with_speed(one, waited[stack_of(one.service)], busy) for one in alike], TWO)

    (contrast,) = called(0.13).contrasts
    assert contrast.verdict == NO_WINNER and contrast.interval is not None and contrast.smallest_visible is not None
    assert contrast.interval[0] < 0 < contrast.interval[1] and contrast.smallest_visible > 0.08
    assert called(0.13).credit == pytest.approx(0.08, abs=0.005)
    # A busy server has certainly lost the CPU time that others took.
    assert called(0.95).contrasts[0].verdict == FASTER and called(0.95).credit == 0


def mixed(services: Mapping[str, tuple[float, float, float]], **how: Any) -> list[Record]:
    """Records of services with (requests/s, speed relative to that, busy share), and equal CPU per request."""
    rates = {name: rate for name, (rate, _, _) in services.items()}
    records = [replace(one, cpu_per_success_s=250e-6) for one in measured(rates, 6, noise=0.01, **how)]
    return [with_speed(one, *services[stack_of(one.service)][1:]) for one in records]


def test_credit_for_the_time_of_others_changes_no_order() -> None:
    """As in a published run: by speed, one would lead that served less than uvicorn and needed more CPU."""
    services = {"aiohttp": (1202.0, 1.16, 0.81), "uvicorn-asgi": (1243.0, 1.09, 0.76)}
    services |= {"bjoern-wsgi": (1220.0, 1.04, 0.98), "tornado": (1051.0, 1.14, 0.88)}
    found = judged(mixed(services), services)
    assert [stack_of(row.service) for row in found.rows] == ["uvicorn-asgi", "bjoern-wsgi", "aiohttp", "tornado"]
    # The differences are those of the requests served, and the intervals hold with the credit too.
    assert rows_of(found)["aiohttp"].difference == pytest.approx(1202 / 1243 - 1, abs=0.01)
    contrast = found.ahead(service_of("aiohttp"), service_of("uvicorn-asgi"))
    assert contrast is not None and contrast.interval is not None and contrast.interval[1] > 1202 * 1.16 / 1243 - 1
    # Servers that are always busy did lose that time.
    busy = {name: (rate, credit, 0.98) for name, (rate, credit, _) in services.items()}
    assert stack_of(judged(mixed(busy), busy).rows[0].service) == "aiohttp"


def test_a_difference_that_only_the_credit_makes_is_not_called() -> None:
    called = Difference("a", "b", FASTER, 0.05, Interval(0.03, 0.07, 0.95), 0.02, 0.0, 0.03)
    assert without_credit(called, 0.0, 0.02).word == FASTER
    # What was served differs by less than counts as a difference, and by no more than noise.
    assert without_credit(called, 0.035, 0.0).word == NO_WINNER
    small = replace(called, interval=Interval(0.045, 0.055, 0.95))
    assert without_credit(small, 0.04, 0.0).word == NO_WINNER


def test_the_first_tier_ends_where_a_service_is_shown_to_be_slower() -> None:
    """However wide the interval of one further behind."""
    speeds = {"aiohttp": 1000, "tornado": 900, "uvicorn-asgi": 800}
    noisy = random.Random(5)
    records = [
        replace(one, goodput=(one.goodput or 0.0) * math.exp(noisy.gauss(0, 0.25))) if "uvicorn" in one.service else one
        for one in measured(speeds, 6, spread=0.002)
    ]
    found = judged([replace(one, server="uvicorn", framework="app") for one in records], speeds, waits=True)
    services = [row.service for row in found.rows]
    assert [stack_of(name) for name in services] == ["aiohttp", "tornado", "uvicorn-asgi"]
    assert found.apart(services[0], services[1]) and not found.apart(services[0], services[2])
    assert [row.tier for row in found.rows] == [1, 2, 2] and found.front(services) == services[:1]


def test_where_connections_and_wait_are_the_limit_the_table_says_so() -> None:
    services = {"aiohttp": (734.0, 1.0, 0.064), "tornado": (706.0, 1.0, 0.13), "gunicorn-sync-flask": (48.0, 1.0, 0.04)}
    planned = table(map(service_of, services), scenario="delay-20", waits=True)
    facts = facts_of(planned, host={"cpu": "a CPU"})
    records = [replace(one, connections=16) for one in mixed(services, scenario="delay-20")]
    (text,) = ranking_texts(facts, records)
    found = text.ranking.ceiling
    assert found == Ceiling(2, 800, 16, pytest.approx(706 / 800, abs=0.01), pytest.approx(0.13), 250)
    assert text.sentences[1] == (
        "The load is the limit: 16 connections allow 800 requests/s with this wait, and the first 2 served 88 % of that"
        " or more, at most 13 % busy. About 250 connections would keep the fastest busy and could separate them."
    )
    # Far below that the services themselves are the limit, and a busy one is.
    for other in ({"aiohttp": (500.0, 1.0, 0.1)}, {"aiohttp": (734.0, 1.0, 0.95)}):
        records = [replace(one, connections=16) for one in mixed(services | other, scenario="delay-20")]
        assert judge_tables(facts, records)[0].ceiling is None


@pytest.mark.parametrize(("foreign", "named"), [(0.02, False), (0.2, False), (0.4, True)])
def test_a_service_beside_other_programs_is_not_said_to_wait(foreign: float, named: bool) -> None:
    """With one of two CPUs, others that used 40 % of both may have had 80 % of the server's."""
    facts = facts_of(table(map(service_of, ("aiohttp", "tornado"))), host={"cpus": 2}, knobs={"SERVER_CPUS": "0"})
    records = [
        replace(one, foreign_ratio=foreign, nulls={k: v for k, v in one.nulls.items() if k != "foreign_ratio"})
        for one in mixed({"aiohttp": (1000.0, 1.4, 0.47), "tornado": (900.0, 1.0, 0.95)})
    ]
    (found,) = judge_tables(facts, records)
    (idles,) = rows_of(found)["aiohttp"].remarks
    assert isinstance(idles, Idles) and (idles.others is not None) is named
    used = 0.47 / 1.4 if named else 0.47
    assert idles.busy == pytest.approx(used, abs=0.01)
    assert rows_of(found)["tornado"].remarks == ()


ALIKE = Difference("a", "b", EQUAL, 0.0, Interval(-0.02, 0.02, 0.95), 0.03, 0.0, 0.05)
"""Its own interval is within 2 %, the simultaneous one within 3 %."""


def test_no_difference_is_shown_only_if_it_holds_without_the_credit_too() -> None:
    told = [without_credit(ALIKE, credit, 0.0) for credit in (0.0, 0.005, 0.02)]
    assert [one.word for one in told] == [EQUAL, EQUAL, NO_WINNER]
    # Without a verdict it has the simultaneous interval, like every other pair.
    assert (told[-1].interval.low, told[-1].interval.high) == (pytest.approx(-0.05), pytest.approx(0.03))


def test_how_much_faster_a_lower_bound_could_be_is_open() -> None:
    open_above = as_lower_bound(ALIKE, {"a"})
    assert (open_above.word, open_above.interval.high) == (NO_WINNER, math.inf)
    assert as_lower_bound(ALIKE, {"b"}).interval.low == -math.inf and as_lower_bound(ALIKE, {"c"}) == ALIKE
    faster = replace(ALIKE, word=FASTER, interval=Interval(0.1, 0.2, 0.95))
    assert as_lower_bound(faster, {"a"}) == faster and as_lower_bound(faster, {"b"}).word == NO_WINNER


def test_at_a_rate_only_cpu_time_can_differ() -> None:
    """Requests/s are those of the rate, and would make all services equal."""
    records = measured(dict.fromkeys(TWO, 500), 8, changes={"tornado": {"cpu_s": None}})
    found = judged([replace(one, rate=500.0, goodput=500.0) for one in records], TWO)
    assert found.metric is Metric.CPU and not any(one.verdict == EQUAL for one in found.contrasts)


def test_the_cheapest_are_those_that_are_tied_with_the_first() -> None:
    costs = {"aiohttp": (1e-4, 0.01), "tornado": (1.5e-4, 0.01), "bjoern-wsgi": (1.12e-4, 0.3)}
    noise = random.Random(3)
    records = []
    for one in measured(dict.fromkeys(costs, 1000), 8, spread=0.001, noise=0.01):
        mean, spread = costs[stack_of(one.service)]
        records.append(with_speed(replace(one, cpu_per_success_s=mean * math.exp(noise.gauss(0, spread)))))
    found = judged(records, costs)
    assert found.cheapest is not None
    assert {stack_of(name) for name in found.cheapest.services} == {"aiohttp", "bjoern-wsgi"}


def in_two_lengths(records: Sequence[Record], bias: Mapping[str, float], noise: float, seed: int = 1) -> list[Record]:
    """The records as turns bias them: logarithms by service; `noise` is that of the steady part's speed."""
    rng = random.Random(seed)
    found = []
    for one in records:
        speed, factor = one.goodput or 0.0, math.exp(bias[stack_of(one.service)])
        steady = speed * math.exp(rng.gauss(0, noise))
        found.append(with_speed(replace(one, goodput=speed * factor, steady_goodput=steady, steady_speed=steady)))
    return found


def test_the_bias_of_turns_is_measured_in_the_run_and_taken_out() -> None:
    speeds = {"aiohttp": 1000, "tornado": 1100, "uvicorn-asgi": 1400}
    bias = {"aiohttp": 0.1, "tornado": -0.1, "uvicorn-asgi": 0.0}
    records = measured(speeds, 8, spread=0.002)
    blind = judged([with_speed(one, math.exp(bias[stack_of(one.service)])) for one in records], speeds)
    assert verdicts_of(blind)["aiohttp", "tornado"] == SLOWER and blind.bias is None
    found = judged(in_two_lengths(records, bias, 0.01), speeds)
    assert verdicts_of(found) == dict.fromkeys(verdicts_of(found), FASTER)
    assert found.bias == pytest.approx(math.expm1(0.2), abs=0.02)
    apart = next(one for one in found.contrasts if {stack_of(one.a), stack_of(one.b)} == {*TWO})
    assert apart.interval is not None and apart.interval[0] < 0.1 < apart.interval[1]
    # The printed requests/s are those of steady load too.
    means = {name: row.goodput and row.goodput.mean for name, row in rows_of(found).items()}
    assert means == pytest.approx(speeds, rel=0.02)


def test_noise_of_the_steady_part_is_no_bias_but_widens_intervals() -> None:
    speeds = dict.fromkeys(("aiohttp", "tornado", "uvicorn-asgi", "bjoern-wsgi"), 1000)
    records = measured(speeds, 8, spread=0.01)

    def half_widths(noise: float) -> list[float]:
        found = judged(in_two_lengths(records, dict.fromkeys(speeds, 0.0), noise), speeds)
        assert FASTER not in verdicts_of(found).values() and SLOWER not in verdicts_of(found).values()
        return [(one.interval[1] - one.interval[0]) / 2 for one in found.contrasts if one.interval]

    assert min(half_widths(0.05)) > 1.2 * max(half_widths(0.001))


def test_requests_per_second_that_say_the_opposite_take_a_verdict_by_cpu_time_away() -> None:
    # It waits for something: it needs a tenth of the CPU time, and serves a tenth.
    records = measured({"aiohttp": 4000, "tornado": 400}, 8, noise=0.01, changes={"tornado": {"cpu_s": 2.5e-5}})
    found = judged(records, TWO)
    assert (found.metric, found.contrasts[0].verdict) == (Metric.CPU, NO_WINNER)


KEEP = [("wrk", "-t", "1"), ("ab", "-q", "-k"), ("hey", "-c", "8")]
CLOSE = [("ab", "-q"), ("hey", "-disable-keepalive"), ("vegeta", "attack", "-keepalive=false")]


@pytest.mark.parametrize("command, kept", [*((c, True) for c in KEEP), *((c, False) for c in CLOSE), (None, None)])
def test_the_command_says_whether_connections_are_kept(command: tuple[str, ...] | None, kept: bool | None) -> None:
    one = measured({"aiohttp": 1000}, 1)[0]
    nulls = {name: why for name, why in one.nulls.items() if name != "command" or command is None}
    record = replace(one, tool=command[0] if command else one.tool, command=command, nulls=nulls)
    assert connections_kept([record]) is kept

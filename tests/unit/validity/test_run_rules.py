"""Causes that need a whole run: each just below and just above its limit."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from built_runs import build, causes, measured
from make_run import entry, output_of, write_measurement, write_run

from bench.records.record import Record
from bench.run.facts import RunFacts, run_facts_of
from bench.tools.levels import Level
from bench.validity.run_rules import NoiseLimits, apply_run_rules, ceilings_of, noise_limits_of, noise_of

FACTS, LIMITS = RunFacts(), NoiseLimits()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """A valid record of wrk at 4,000/s, round 1."""
    record = measured(tmp_path_factory.mktemp("run"), entry())
    assert record.valid, record.causes
    return record


def null(record: Record, goodput: float, **changes: Any) -> Record:
    """The null server's measurement."""
    return dataclasses.replace(record, id="r01-0099", service="null", goodput=goodput, **changes)


@pytest.mark.parametrize("ceiling, found", [(8001, False), (8000, False), (7999, True)])
def test_goodput_is_at_most_half_of_the_tools_ceiling(ceiling: float, found: bool, plain: Record) -> None:
    judged, control = apply_run_rules([plain, null(plain, ceiling)], FACTS)
    assert causes(judged) == (["loadgen-bound"] if found else [])
    assert judged.valid is not found
    # The null server is meant to be limited by the tool.
    assert control.valid


def test_the_ceiling_is_that_of_the_scenario_where_there_is_one_and_else_the_tools_best(plain: Record) -> None:
    best = null(plain, 20_000, scenario="plaintext")
    assert causes(apply_run_rules([plain, best], FACTS)[0]) == []
    judged = apply_run_rules([plain, best, null(plain, 7_000)], FACTS)[0]
    assert causes(judged) == ["loadgen-bound"]
    assert "at 57% of the 7,000/s that wrk reaches against the null server (json)" in judged.causes[0].detail
    assert causes(apply_run_rules([plain, null(plain, 7_000, scenario="plaintext")], FACTS)[0]) == ["loadgen-bound"]
    assert causes(apply_run_rules([plain, null(plain, 7_000, tool="hey")], FACTS)[0]) == []


def test_the_ceiling_of_a_tool_that_closes_its_connections_is_one_of_its_own(plain: Record) -> None:
    kept, closing = null(plain, 20_000), null(plain, 7_000, level=Level.read("c64close"))
    assert causes(apply_run_rules([plain, kept, closing], FACTS)[0]) == []
    closes = dataclasses.replace(plain, level=Level.read("c64close"))
    assert causes(apply_run_rules([closes, kept, closing], FACTS)[0]) == ["loadgen-bound"]
    assert causes(apply_run_rules([closes, kept], FACTS)[0]) == []


def test_the_best_of_several_rounds_is_the_ceiling(plain: Record) -> None:
    rounds = [null(plain, 5_000), null(plain, 9_000, round=2)]
    assert causes(apply_run_rules([plain, *rounds], FACTS)[0]) == []


def test_a_ceiling_that_was_not_reached_or_not_measured_is_none(plain: Record) -> None:
    broken = dataclasses.replace(apply_run_rules([plain, null(plain, 7_999)], FACTS)[0], service="null")
    assert not broken.valid
    assert ceilings_of([broken]).of(plain) is None
    # A tool that reached its target rate could have sent more.
    at_rate = {"rate": 500.0, "connections": None, "level": Level.read("r500")}
    assert ceilings_of([null(plain, 499, **at_rate)]).of(plain) is None
    # Other programs used the null server's CPU.
    beside = {"mode": "null", "foreign_ratio": 0.31}
    assert ceilings_of([null(plain, 490, loadgen_busy_ratio=0.42, **beside)]).of(plain) is None
    assert ceilings_of([null(plain, 490, loadgen_busy_ratio=0.98, **beside)]).of(plain) == (490, "json")
    # It sent the rate, and the last response was slow.
    assert ceilings_of([null(plain, 490, sent_rate=500.0, **at_rate)]).of(plain) is None
    assert ceilings_of([null(plain, 490, sent_rate=494.0, **at_rate)]).of(plain) == (490, "json")
    assert ceilings_of([null(plain, 490, sent_rate=495.0, **at_rate)]).of(plain) is None
    # Noise is what the run's own limits say.
    limits = NoiseLimits(foreign=0.4)
    assert ceilings_of([null(plain, 490, loadgen_busy_ratio=0.42, **beside)], limits).of(plain) == (490, "json")


@pytest.mark.parametrize("figure, most", [("loadgen_busy_ratio", 0.85), ("loadgen_wait_ratio", 0.1)])
def test_the_loadgens_cpus_have_room_and_the_tool_gets_one(figure: str, most: float, plain: Record) -> None:
    for share, wanted in ((most - 0.001, []), (most + 0.001, ["loadgen-bound"])):
        both = [dataclasses.replace(one, **{figure: share}) for one in (plain, null(plain, 1e6))]
        judged, control = apply_run_rules(both, FACTS)
        assert causes(judged) == wanted
        assert control.valid


@pytest.mark.parametrize("busy, found", [(0.84, True), (0.86, False)])
def test_the_server_is_the_limit_of_a_closed_loop_in_which_it_was_busy(busy: float, found: bool, plain: Record) -> None:
    """However fast it is: otherwise its fastest windows would be left out."""
    control, wanted = null(plain, 7_000), ["loadgen-bound"] if found else []
    duration_s = plain.duration_s or 0.0
    alone = dataclasses.replace(plain, server_cpu_s=busy * duration_s, loadgen_busy_ratio=0.99)
    # One worker cannot use two CPUs; two can.
    bound = ["loadgen-bound"]
    for cpus, more, here in (("0", {}, wanted), ("0-1", {"WORKERS": "1"}, wanted), ("0-1", {"WORKERS": "2"}, bound)):
        facts = run_facts_of({"knobs": {"SERVER_CPUS": cpus} | more})
        assert causes(apply_run_rules([alone, control], facts)[0]) == here
    nulls = {name: why for name, why in plain.nulls.items() if name != "server_busy_ratio"}
    turns = dataclasses.replace(plain, mode="turns", server_busy_ratio=busy, nulls=nulls)
    assert causes(apply_run_rules([turns, control], FACTS)[0]) == wanted
    # At a rate the tool has to be on time, whatever the server does.
    at_rate = dataclasses.replace(turns, rate=4000.0, mode="rate")
    assert causes(apply_run_rules([at_rate, control], FACTS)[0]) == ["loadgen-bound"]
    assert causes(apply_run_rules([alone, control], FACTS)[0]) == ["loadgen-bound"]


def unknown(record: Record, name: str) -> Record:
    return dataclasses.replace(record, **{name: None}, nulls=dict(record.nulls) | {name: "not known"})


def test_what_is_not_known_is_no_cause(plain: Record) -> None:
    for name in ("loadgen_busy_ratio", "loadgen_wait_ratio", "steal_ratio", "foreign_ratio", "goodput"):
        assert apply_run_rules([unknown(plain, name), null(plain, 7_000_000)], FACTS)[0].valid


@pytest.mark.parametrize("figure, most", [("steal_ratio", 0.01), ("foreign_ratio", 0.05)])
def test_noise_speaks_against_its_window_and_no_other(figure: str, most: float, plain: Record) -> None:
    best = dataclasses.replace(plain, id="r01-0003", goodput=9e9)
    for factor, found in ((0.99, []), (1.01, ["host"])):
        noisy = dataclasses.replace(plain, id="r01-0002", **{figure: factor * most})
        judged = apply_run_rules([plain, noisy, best, null(plain, 1e12)], FACTS)
        assert [causes(record) for record in judged] == [[], found, [], []]


def test_the_detail_says_how_much(plain: Record) -> None:
    judged = apply_run_rules([dataclasses.replace(plain, foreign_ratio=0.2, steal_ratio=0.1)], FACTS)
    assert judged[0].causes[0].detail == "steal 10.0%, foreign CPU 20.0%"


def test_in_turns_noise_falls_on_all_services_alike(plain: Record) -> None:
    shared = dataclasses.replace(plain, mode="turns", foreign_ratio=0.9, steal_ratio=0.5)
    assert apply_run_rules([shared], FACTS)[0].valid
    assert noise_of(shared, LIMITS) == ""


def test_what_was_not_measured_is_not_judged(plain: Record) -> None:
    noisy = apply_run_rules([dataclasses.replace(plain, foreign_ratio=0.9)], FACTS)[0]
    died = dataclasses.replace(noisy, outcome="died")
    assert apply_run_rules([died], FACTS) == [died]
    assert noise_of(died, LIMITS) == ""


SETTINGS = [
    ({}, LIMITS),
    ({"MAX_STEAL": "1", "MAX_FOREIGN_CPU": "5", "MAX_LOADGEN_WAIT": "10"}, LIMITS),
    ({"MAX_STEAL": "2.5", "MAX_FOREIGN_CPU": "100", "MAX_LOADGEN_WAIT": "0"}, NoiseLimits(0.025, 1.0, 0.0)),
    ({"MAX_STEAL": "lots", "MAX_FOREIGN_CPU": None, "MAX_LOADGEN_WAIT": "nan"}, LIMITS),
    ({"MAX_STEAL": [], "MAX_FOREIGN_CPU": "-1", "MAX_LOADGEN_WAIT": "inf"}, LIMITS),
]


@pytest.mark.parametrize("settings, limits", SETTINGS)
def test_the_limits_are_the_runs_own_settings(settings: dict[str, Any], limits: NoiseLimits) -> None:
    assert noise_limits_of(settings) == limits


def test_a_run_is_judged_as_a_whole_and_its_report_counts_the_causes(tmp_path: Path) -> None:
    lines = [entry(stack, round=n) for n in (1, 2) for stack in ("aiohttp", "tornado")]
    for number, line in enumerate(lines, 1):
        line["id"] = f"r{line['round']:02}-{number:04}"
    noisy = {"after": {"loadgen": {"cpuacct.usage": "2500000000"}, "proc_stat": "cpu  400 0 200 999 0 0 0 1 0 0"}}
    row = "| host | tornado-py313-debian | 1 | r01-0002 json wrk c64: foreign CPU 18.3% |"
    for settings, valid in (({}, [True, False, True, True]), ({"MAX_FOREIGN_CPU": "50"}, [True] * 4)):
        write_run(tmp_path, lines, knobs=settings)
        for line in lines:
            write_measurement(tmp_path, line, output_of(line, 4000), tool=noisy if line["id"] == "r01-0002" else None)
        assert [record.valid for record in build(tmp_path)] == valid
        report = (tmp_path / "report.md").read_text()
        assert ("noise on the host (cause `host`): 1." in report) == (row in report) == (not all(valid))


SYNC = {"services": {"aiohttp-py313-debian": {"concurrent": False}}, "knobs": {"WORKERS": "2"}}


WAITS = [
    ("delay-20", 3200.0, {}, False),  # 64 connections
    ("delay-20", 3210.0, {}, True),
    ("delay-0", 9000.0, {}, False),
    ("json", 9000.0, {}, False),
    ("delay-20", 100.0, SYNC, False),
    ("delay-20", 101.0, SYNC, True),
    ("delay-20", 101.0, {"services": SYNC["services"], "knobs": {"WORKERS": "4"}}, False),
    ("simple-request-0", 650.0, {"knobs": {"UPSTREAM_DELAY_MS": "100"}}, True),
    ("simple-request-50", 1200.0, {"knobs": {"UPSTREAM_DELAY_MS": "100"}}, False),
]


@pytest.mark.parametrize(("scenario", "goodput", "facts", "found"), WAITS)
@pytest.mark.parametrize("mode", ["solo", "turns"])
def test_no_more_responses_than_connections_over_the_wait(
    plain: Record, scenario: str, goodput: float, facts: dict[str, Any], *, found: bool, mode: str
) -> None:
    record = dataclasses.replace(plain, scenario=scenario, goodput=goodput, mode=mode)
    (judged,) = apply_run_rules([record], run_facts_of(facts))
    assert causes(judged) == (["impossible"] if found else [])


def test_the_load_generator_is_asked_in_turns_too(plain: Record) -> None:
    turns = dataclasses.replace(plain, mode="turns")
    busy = dataclasses.replace(turns, loadgen_busy_ratio=0.91)
    assert causes(apply_run_rules([busy], FACTS)[0]) == ["loadgen-bound"]
    assert causes(apply_run_rules([turns, null(plain, 7_000)], FACTS)[0]) == ["loadgen-bound"]

"""Rounds, tables and the null server of a plan, in random order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from make_plans import MATRIX, plan

from bench.core.errors import UserError
from bench.plan.measurement import Measurement
from bench.plan.order import measurements

CPUS = {"SERVER_CPUS": "0", "LOADGEN_CPUS": "1"}


def test_rounds_hold_every_cell_once_in_an_order_that_the_seed_decides() -> None:
    made = plan(preset="quick", mode="solo", rounds=3, tools=("wrk",), controls="none")
    first, second = measurements(made, 1), measurements(made, 2)
    assert first == measurements(made, 1)
    assert [m.dir for m in first] != [m.dir for m in second]
    assert len({m.id for m in first}) == len(first) == 3 * 16
    orders = [[m.service + m.scenario for m in first if m.round == n] for n in (1, 2, 3)]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1] != orders[2]


def test_a_share_of_a_knee_comes_after_it_in_the_first_round_and_not_without_it() -> None:
    wanted = ("knee50:p99=50ms", "knee:p99=50ms")
    stacks = ("uvicorn-asgi", "aiohttp")
    made = plan(stacks=stacks, scenarios=("json",), tools=("vegeta",), rounds=4, levels=wanted)
    # The control that shows what the client can send comes before any search.
    client, *lines = measurements(made, 1)
    assert (client.service, client.tool, client.level.text) == ("null", "vegeta", "knee-p99-25ms")
    shares = [line.knee_share for line in lines if line.round == 1]
    assert shares == [None] * 2 + [0.5] * 2
    assert any([line.knee_share for line in lines if line.round == later] != shares for later in (2, 3, 4))
    assert {(line.rate, line.knee_p99_s) for line in lines} == {(None, 0.05)}


def test_threads_are_the_most_that_divide_the_connections() -> None:
    made = plan(levels=("6", "7", "64"), settings={"LOADGEN_CPUS": "0-3"})
    threads = {(line.connections, line.threads) for line in measurements(made, 1) if line.connections}
    assert threads == {(6, 3), (7, 1), (64, 4)}


def test_the_scenarios_whose_answers_need_the_database_say_so() -> None:
    made = plan(scenarios=("json", "simple-request-0", "db-raw", "queries-20-orm", "create-data-1"), tools=("wrk",))
    asks = {line.scenario: line.database for line in measurements(made, 1) if line.service != "null"}
    needed = {"db-raw": True, "queries-20-orm": True, "create-data-1": True}
    assert asks == {"json": False, "simple-request-0": False} | needed
    for route in MATRIX.routes.values():
        asks_it = route.exchange.path.startswith(("/raw/", "/orm/", "/create_data/"))
        assert (route.database and not route.selftest) == asks_it


def test_every_round_has_the_null_server_for_each_closed_loop() -> None:
    made = plan(preset="quick", mode="solo", rounds=2, tools=("wrk", "ab", "hey"))
    lines = measurements(made, 1)
    for number in (1, 2):
        here = [m for m in lines if m.round == number]
        nulls = [m for m in here if m.mode == "null"]
        assert sorted(m.tool for m in nulls) == ["ab", "hey", "wrk"]
        assert {m.service for m in nulls} == {"null"}
        assert {m.scenario for m in nulls} <= {"json", "plaintext"}
    assert len({m.dir for m in lines}) == len({m.id for m in lines}) == len(lines)


def test_a_table_is_measured_in_blocks_that_each_round_draws_anew() -> None:
    made = plan(scenarios=("json", "delay-20"), tools=("wrk",), rounds=3)
    lines = [m for m in measurements(made, 1) if m.mode == "turns"]
    services = {m.service for m in lines}
    assert services == {s.name for s in made.services}
    rounds = []
    for number in (1, 2, 3):
        here = [m for m in lines if m.round == number]
        assert sorted((m.service, m.scenario) for m in here) == sorted(
            (cell.service.name, table.first.scenario) for table in made.tables for cell in table.cells
        ), "each service once in each table"
        blocks = {unit: frozenset(m.service for m in here if m.unit == unit) for unit in {m.unit for m in here}}
        assert max(map(len, blocks.values())) <= 8
        assert max(map(len, blocks.values())) - min(map(len, blocks.values())) <= 1 or len(blocks) > len(services) / 8
        rounds.append(set(blocks.values()))
    assert rounds[0] != rounds[1] != rounds[2]
    assert {m.turn_s for m in lines if m.scenario == "json"} == {0.04}
    assert {m.turn_s for m in lines if m.scenario == "delay-20"} == {0.18}, "all turns in less than 2 s"
    assert len({m.dir for m in lines}) == len({m.id for m in lines}) == len(lines)


def test_the_null_server_is_measured_once_where_all_else_is_in_turns() -> None:
    made = plan(stacks=("aiohttp", "tornado"), rounds=4)
    nulls = [(m.round, m.tool) for m in measurements(made, 1) if m.mode == "null"]
    assert sorted(nulls) == [(1, "vegeta"), (1, "wrk")], "what each tool can do"
    assert {m.mode for m in measurements(made, 1)} == {"turns", "null", "rate"}
    made = plan(stacks=("aiohttp", "tornado"), rounds=4, latency=False)
    assert [m.tool for m in measurements(made, 1) if m.mode == "null"] == ["wrk"]


def test_after_their_turns_the_services_of_a_block_have_their_common_rate() -> None:
    stacks = ("*-wsgi", "aiohttp")
    lines = measurements(plan(stacks=stacks, rounds=8), 1)
    rated = [m for m in lines if m.mode == "rate"]
    assert {m.round for m in rated} == {2, 3, 4, 5, 6, 7}, "the first round tells the speeds; verdicts need six"
    assert {(str(m.level), m.share, str(m.share_of), m.rate, m.turn_s) for m in rated} == {
        ("share50", 0.5, "wrk c16", None, None)
    }
    for unit in {m.unit for m in rated}:
        block = [m for m in lines if m.unit == unit]
        assert [m.mode for m in block] == ["turns"] * (len(block) // 2) + ["rate"] * (len(block) // 2)
        turns, rates = ({m.service for m in block if m.mode == mode} for mode in ("turns", "rate"))
        assert turns == rates
        assert {str(m.table) for m in block} == {"json wrk c16"}
    assert len({m.dir for m in lines}) == len({m.id for m in lines}) == len(lines)


def test_the_last_round_at_common_rates_may_have_no_turns() -> None:
    made = plan(stacks=("*-wsgi", "aiohttp"), rounds=6)
    lines = measurements(made, 1)
    assert made.rounds == 7
    assert {m.mode for m in lines if m.round == 7} == {"rate"}
    assert {m.service for m in lines if m.round == 7} == {m.service for m in lines if m.round == 2}
    turns, rates = ({m.round for m in lines if m.mode == mode} for mode in ("turns", "rate"))
    assert turns == {1, 2, 3, 4, 5, 6} and rates == {2, 3, 4, 5, 6, 7}
    # Too few rounds for verdicts: as many as there are.
    few = measurements(plan(stacks=("*-wsgi", "aiohttp"), rounds=4), 1)
    assert {m.round for m in few if m.mode == "rate"} == {2, 3, 4}


def test_without_latency_a_plan_is_what_it_is_without_its_common_rates() -> None:
    stacks = ("*-wsgi", "aiohttp")
    made = plan(stacks=stacks, rounds=8)
    without = replace(made, tables=tuple(replace(table, shares=()) for table in made.tables), nulls=made.nulls[:-1])
    assert measurements(plan(stacks=stacks, rounds=8, latency=False), 1) == measurements(without, 1)


def test_of_several_tables_of_a_scenario_the_first_has_the_common_rate() -> None:
    lines = measurements(plan(stacks=("aiohttp", "tornado"), levels=("c16", "c64"), rounds=4), 1)
    assert {str(m.share_of) for m in lines if m.mode == "rate"} == {"wrk c16"}


@pytest.mark.parametrize(
    ("levels", "rated", "closed"),
    [
        (("c64",), {"share50"}, {"c64"}),
        (("share10", "share90"), {"share10", "share90"}, {"c16"}),
        (("c64", "share90"), {"share90"}, {"c64"}),
    ],
)
def test_levels_replace_those_of_their_kind(levels: tuple[str, ...], rated: set[str], closed: set[str]) -> None:
    lines = measurements(plan(stacks=("aiohttp", "tornado"), levels=levels, rounds=4), 1)
    assert {str(m.level) for m in lines if m.mode == "rate"} == rated
    assert {str(m.level) for m in lines if m.mode == "turns"} == closed


@pytest.mark.parametrize("more", [{"mode": "solo"}, {"latency": False}, {"stacks": ("aiohttp",)}])
def test_a_common_rate_needs_a_table_in_turns(more: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="share50 needs a table in turns"):
        plan(**({"stacks": ("aiohttp", "tornado"), "levels": ("share50",)} | more))


def test_services_are_under_the_same_event_side_by_side_but_where_it_takes_all_of_the_cpu() -> None:
    stacks = MATRIX.presets["bad-day-all"].stacks[:20]
    events = ("stop", "slow-silent", "overload", "connections-5000-idle")
    made = plan(preset="bad-day", stacks=stacks, events=events, rounds=2, settings=CPUS, controls="none")
    blocks: dict[str, list[Measurement]] = {}
    for line in measurements(made, 1):
        blocks.setdefault(line.unit, []).append(line)
    sizes = sorted((str(own[0].level), own[0].round, len(own)) for own in blocks.values())
    assert sizes == [
        *[("connections-5000-idle", n, 2) for n in (1, 2) for _ in range(10)],
        *[("overload-20-s", n, 1) for n in (1, 2) for _ in range(20)],
        *[("overload-20-s-own-backlog", n, 1) for n in (1, 2) for _ in range(6)],
        *[("slow-silent", n, size) for n in (1, 2) for size in (6, 7, 7)],
        *[("stop", n, size) for n in (1, 2) for size in (6, 7, 7)],
    ]
    for own in blocks.values():
        assert len({(line.level, line.round, line.seconds, line.mode) for line in own}) == 1
        assert [line.slot for line in own] == [*range(1, len(own) + 1)]
    beside = [own for own in blocks.values() if len(own) > 1]
    drawn = [{frozenset(line.service for line in own) for own in beside if own[0].round == n} for n in (1, 2)]
    assert drawn[0] != drawn[1] and frozenset().union(*drawn[0]) == frozenset().union(*drawn[1])
    alone = plan(preset="bad-day", events=("stop",), mode="solo", controls="none", settings=CPUS)
    assert {line.slot for line in measurements(alone, 1)} == {1}


def joined(*events: str, **more: Any) -> list[list[Measurement]]:
    """The blocks of a run of one service under these events."""
    blocks: dict[str, list[Measurement]] = {}
    for line in measurements(plan(preset="bad-day", events=events, stacks=("waitress-wsgi",), **more), 1):
        blocks.setdefault(line.unit or line.id, []).append(line)
    return [*blocks.values()]


def test_a_run_of_few_services_has_several_cases_of_an_event_at_once() -> None:
    events = ("slow-silent", "slow-a-header-byte-a-second", "overload", "away")
    blocks = joined(*events, rounds=2, controls="none", settings=CPUS)
    found = sorted(tuple(sorted(str(line.level) for line in own)) for own in blocks if own[0].round == 1)
    # An overload takes all of the CPU, and a database can be stopped in one way at a time.
    away = sorted((level,) for level in {str(own[0].level) for own in blocks} if level.startswith("away"))
    assert len(away) > 1
    assert found == [*away, ("overload-20-s",), ("slow-a-header-byte-a-second", "slow-silent")]
    (both,) = (own for own in blocks if len(own) > 1 and own[0].round == 1)
    name = both[0].service
    assert [(line.service, line.container, line.copy, line.slot) for line in both] == [
        (name, name, 1, 1),
        (name, f"{name}-copy-2", 2, 2),
    ]
    assert len({line.seconds for line in both}) == 1 and both[0].seconds < 1.2 * max(
        line.seconds for own in joined(*events, mode="solo", controls="none", settings=CPUS) for line in own
    )


def test_a_reload_of_one_server_has_all_its_cases_at_once_in_every_round() -> None:
    made = plan(preset="bad-day", events=("reload",), stacks=("gunicorn-sync-wsgi",))
    lines = [line for line in measurements(made, 1) if line.mode == "event"]
    blocks = {number: {line.unit for line in lines if line.round == number} for number in (1, 2, 3)}
    assert len(lines) == 12 and {number: len(units) for number, units in blocks.items()} == {1: 1, 2: 1, 3: 1}
    # What boots longest begins last, when the workers of the others have booted.
    for number in blocks:
        boots = [line.event.environment.get("BOOT_S", "0") for line in lines if line.round == number and line.event]
        assert boots == ["0", "0", "5", "5"]


def test_cases_are_joined_as_far_as_the_connections_of_all_allow() -> None:
    names = ("connections-1000-idle", "connections-5000-idle")
    sizes = [len(own) for own in joined(*names, rounds=1, controls="none", settings=CPUS)]
    assert sizes == [2]
    made = plan(
        preset="bad-day", events=names, stacks=("waitress-wsgi", "uvicorn-asgi"), controls="none", settings=CPUS
    )
    assert sorted(map(len, made.event_blocks(1))) == [2, 2]


def test_what_is_compared_has_the_same_neighbours() -> None:
    stacks = ("uvicorn-asgi", "hypercorn-asgi", "gunicorn-sync-wsgi")
    made = replace(plan(preset="bad-day", events=("stop",), rounds=20, stacks=stacks, controls="none"), room=40.0)
    first, _, last = (one.name for one in made.services)
    blocks: dict[str, set[str]] = {}
    for line in measurements(replace(made, pairs=((first, last),)), 1):
        blocks.setdefault(line.unit, set()).add(line.service)
    assert sorted({len(own) for own in blocks.values()}) == [1, 2]
    assert all({first, last} <= own or not {first, last} & own for own in blocks.values())


def test_what_a_service_holds_is_known_before_its_workers_are_recycled() -> None:
    made = plan(preset="bad-day", events=("stop", "recycle"), rounds=2, controls="none")
    levels = [str(line.level) for line in measurements(made, 1) if line.round == 1]
    first = levels.index("recycle-every-1000")
    assert set(levels[:first]) == {"stop", "recycle-never"} and set(levels[first:]) == {"recycle-every-1000"}

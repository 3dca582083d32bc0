"""The measurements of a plan, round by round; each round has its own random order."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.own_app.targets import folder_of
from bench.plan.cells import NULL, Plan, PlannedCell, TurnsTable, blocks
from bench.plan.measurement import Measurement, window_folder
from bench.tools import OPEN_LOOP
from bench.tools.levels import ToolLevel

Place = tuple[int, int]
"""(round, position in it), both from 1."""
OF_THE_LEVEL = ("connections", "count", "rate", "knee_p99_s", "knee_share", "share")
LEAST_TIMEOUT_S = 10.0
"""The shortest timeout of a request in turns."""


def measurements(plan: Plan, seed: int) -> list[Measurement]:
    """Every cell, block and control of every round, in an order that depends only on the seed."""
    rng = random.Random(seed)
    planned: list[Measurement] = []
    for number in range(1, plan.rounds + 1):
        units: list[PlannedCell | Block | EventBlock] = [*plan.alone] if number <= plan.solo_rounds else []
        units += [EventBlock(block, tuple(cells)) for block, cells in enumerate(plan.event_blocks(number, rng), 1)]
        units += [null for null in plan.nulls if number <= plan.null_rounds(null)]
        units += _blocks(plan, rng) if number <= plan.turn_rounds or number in plan.rate_rounds else []
        rng.shuffle(units)
        if number == 1:
            units.sort(key=_needs)
        for position, unit in enumerate(units, 1):
            if isinstance(unit, Block):
                planned += _of_block(plan, unit, number, position, rng)
            elif isinstance(unit, EventBlock):
                planned += _under_event(plan, unit, number, position)
            else:
                planned.append(_of_cell(plan, unit, number, position))
    return planned


@dataclass(frozen=True, slots=True)
class Block:
    """Services that are up side by side in one round, and their tables."""

    number: int
    services: tuple[str, ...]
    tables: tuple[TurnsTable, ...]


@dataclass(frozen=True, slots=True)
class EventBlock:
    """Services under the same event at the same time, in the order in which their loads begin; drawn in each round."""

    number: int
    cells: tuple[PlannedCell, ...]


def _needs(unit: PlannedCell | Block | EventBlock) -> int:
    """The sort key for round 1: what others depend on comes first.

    A search for a knee needs to know what the client can send, and a load at a share of a knee needs the knee. The
    capacity of a service is found before its workers are recycled, because recycling changes it.
    """
    if isinstance(unit, EventBlock):
        return 2 if any("MAX_REQUESTS" in cell.under.environment for cell in unit.cells) else 1
    if not isinstance(unit, PlannedCell):
        return 1
    if unit.service is NULL and unit.tool == OPEN_LOOP:
        return 0
    return 2 if unit.level.knee_share is not None else 1


def _under_event(plan: Plan, block: EventBlock, number: int, position: int) -> Iterator[Measurement]:
    seconds, copies = plan.event_seconds(block.cells), Counter[str]()
    for slot, cell in enumerate(block.cells, 1):
        copies[cell.service.name] += 1
        planned = _in_block(_of_cell(plan, cell, number, position), "event", block.number, slot)
        yield replace(planned, copy=copies[cell.service.name], seconds=seconds)


def _in_block(planned: Measurement, mode: str, block: int, slot: int) -> Measurement:
    """The measurement at its place in a block of its round."""
    kind, cell = ("e", "") if mode == "event" else ("b", f"{planned.scenario}-{planned.tool}-{planned.level}-w1-")
    unit = f"r{planned.round:02}-{kind}{block}"
    folder = window_folder(f"raw/{unit.replace('-', '/')}", planned)
    return replace(
        planned, id=f"{unit}-{cell}{slot}", mode=mode, unit=unit, block=block, window=1, slot=slot, dir=folder
    )


def _blocks(plan: Plan, rng: random.Random) -> Iterator[Block]:
    """Blocks of the tables, drawn anew in each round, so that no service always has the same neighbours."""
    numbers = itertools.count(1)
    for tables in plan.table_groups:
        for names in blocks(tables, rng):
            yield Block(next(numbers), tuple(names), tuple(rng.sample(tables, len(tables))))


def _of_block(plan: Plan, block: Block, number: int, position: int, rng: random.Random) -> Iterator[Measurement]:
    """A window for each table, with one measurement per service; then the loads at common rates."""
    seconds, place = plan.block_seconds(len(block.services), block.tables, number), (number, position)
    turns, rated = number <= plan.turn_rounds, number in plan.rate_rounds
    windows = [list(_in_turns(plan, block, table, place, rng)) for table in block.tables if turns]
    windows += [list(_at_rates(plan, block, table, place)) for table in block.tables if rated]
    yield from (replace(one, seconds=seconds) for window in windows for one in window)


def _in_turns(plan: Plan, block: Block, table: TurnsTable, place: Place, rng: random.Random) -> Iterator[Measurement]:
    cells = [cell for cell in table.cells if cell.service.name in block.services]
    rng.shuffle(cells)
    for slot, cell in enumerate(cells, 1):
        yield replace(
            _in_block(_of_cell(plan, cell, *place), "turns", block.number, slot),
            duration_s=table.load_s(plan.turn_seconds),
            turn_s=table.turn_s,
            # All services of a table share one load generator.
            host_network=table.has_running,
            # The tool's clock goes on while it is stopped, also for requests in flight.
            timeout_s=max(plan.preset.timeout, LEAST_TIMEOUT_S),
        )


def _at_rates(plan: Plan, block: Block, table: TurnsTable, place: Place) -> Iterator[Measurement]:
    cells = [cell for cell in table.cells if cell.service.name in block.services]
    for level, (slot, cell) in itertools.product(table.shares, enumerate(cells, 1)):
        planned = _of_cell(plan, replace(cell, tool=OPEN_LOOP, level=level), *place)
        yield replace(
            _in_block(planned, "rate", block.number, slot),
            share_of=ToolLevel(f"{table.first.tool} {table.first.level}", table.first.tool, table.first.level),
            # A share of a knee is loaded as a plain rate.
            knee_p99_s=None,
            knee_share=None,
            duration_s=plan.rate_seconds,
            host_network=table.has_running,
        )


def _of_cell(plan: Plan, cell: PlannedCell, number: int, position: int) -> Measurement:
    service, level = cell.service, cell.level
    planned = Measurement(
        id=f"r{number:02}-{position:04}",
        round=number,
        position=position,
        service=service.name,
        server=service.server.name,
        framework=service.framework.name,
        python=service.python,
        base=service.base,
        package=service.package,
        settings=service.settings,
        url=service.url or None,
        host_network=bool(service.url),
        scenario=cell.scenario,
        route=cell.route.name,
        database=cell.route.database,
        exchange=cell.exchange,
        requests=folder_of(cell.scenario) if cell.exchange.targets else None,
        tool=cell.tool,
        level=level,
        **{name: getattr(level, name) for name in OF_THE_LEVEL},
        duration_s=cell.event.seconds if cell.event else None if level.count else plan.preset.duration,
        timeout_s=cell.event.timeout_s if cell.event else plan.preset.timeout,
        # The most that divide the connections evenly: wrk drops a remainder.
        threads=max(count for count in range(1, plan.loadgen_cpus + 1) if (level.connections or 1) % count == 0),
        keepalive=cell.event.pool > 0 if cell.event else plan.preset.keepalive and not level.closes,
        warmup_s=plan.preset.warmup,
        seconds=plan.seconds(cell),
        dir="",
        mode="null" if service is NULL else "solo",
        event=cell.event,
    )
    # Measured alone, it is a step of its own.
    return replace(planned, dir=window_folder(f"raw/r{number:02}/{position:04}", planned))

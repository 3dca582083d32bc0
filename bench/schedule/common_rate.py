"""Decides the common rates of a table's services, once the first round has shown their speeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from bench.analysis.causes import HARMLESS_TO_MEANS, causes_beside
from bench.analysis.tables.observations import TableRecords, by_table
from bench.core.errors import UserError
from bench.core.files import as_object, read_bytes, write_file
from bench.core.formats import number
from bench.records.record import MEASURED, Record
from bench.run.common_rates import CommonRates, at_common_rate, path_of
from bench.run.reader import Run
from bench.schedule import journal
from bench.schedule.steps import Step
from bench.tools import OPEN_LOOP
from bench.tools.levels import LoadKey
from bench.validity.run_rules import MAX_OF_CEILING, NULL

TELLS_SPEED = HARMLESS_TO_MEANS | {"late responses"}
"""Causes against a window from which a service's speed can still be estimated."""
LEAST_OF_BEST = 0.1
"""A service slower than this share of the best one's speed, or of what the client can send, is left out.

It would drag the common rate down."""


def decide(source: Run, lines: Sequence[journal.Line], waiting: Collection[LoadKey] = ()) -> None:
    """Write the common rates of each table that has none yet and whose speeds are in the journal's lines.

    `waiting`: the keys of tables whose first round is not complete; a rate is decided once, from all services.
    """
    run = Path(source.path)
    rated = [table for table in source.facts.tables if table.shares]
    undecided = [table for table in rated if table.key not in waiting and not (run / path_of(table.key)).exists()]
    records = journal.reviewed(source, journal.records(lines, ("turns", "null"))) if undecided else []
    for table_records in by_table(undecided, records):
        if table_records.records:
            most = client_most(records, closes=table_records.table.level.closes)
            file = run / path_of(table_records.table.key)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_file(file, rates_of(table_records, most, partial(_knee, run)).text())


def _knee(run: Path, scenario: str, limit_s: float) -> tuple[str, int] | None:
    """The service with the lowest knee in a scenario, and that rate; None if no knee was found."""
    # Slow to import, and no other step of the loop needs it.
    from bench.load.knee import slowest_knee

    with suppress(UserError):
        _, service, rate = slowest_knee(run / "raw", scenario, limit_s)
        return service, rate
    return None


def client_most(records: Iterable[Record], *, closes: bool = False) -> float | None:
    """The most requests/s to ask of the open-loop tool: half of what its CPUs allow; None if unknown.

    `closes`: with a connection for each request.

    The null server shows how much CPU a request costs the tool, even if other programs made requests late.
    """
    for record in _of_client(records):
        if record.loadgen_busy_ratio and record.goodput and record.rate and record.level.closes is closes:
            return MAX_OF_CEILING * min(record.goodput, record.rate) / record.loadgen_busy_ratio
    return None


def knee_ceiling(records: Iterable[Record]) -> float | None:
    """The requests/s up to which the open-loop tool itself keeps p99 far below a knee's limit; None if unknown."""
    return next((record.rate for record in _of_client(records) if record.level.searched), None)


def _of_client(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        if record.service == NULL and record.tool == OPEN_LOOP and record.outcome == MEASURED and record.rate:
            yield record


def rates_of(
    table_records: TableRecords,
    most: float | None,
    knee: Callable[[str, float], tuple[str, int] | None] = lambda *_: None,
) -> CommonRates:
    """Pure: the common rates of a table.

    `most`: see `client_most`; `knee`: maps scenario and p99 limit to the service with the lowest knee, and its rate.
    """
    speeds, left_out = _speeds(table_records)
    common_rates = CommonRates(client=OPEN_LOOP, client_most=most, speeds=speeds, left_out=left_out)
    if most is None:
        why = f"what {OPEN_LOOP} can send is not known: it has no valid measurement of the null server"
        return replace(common_rates, reason=why)
    if not speeds:
        return replace(common_rates, reason="no service has a speed: none has a valid window in the first round")
    levels = {level.text: level for level in table_records.table.shares}
    shares = {name: level.share or level.knee_share or 1.0 for name, level in levels.items()}
    # All shares must have the same services, so the largest share decides: there the client is the limit first.
    best = min(max(speeds.values()), most / max(shares.values()))
    slow = {name: speed for name, speed in speeds.items() if speed < LEAST_OF_BEST * best}
    drags = "requests/s would drag the common rate below a tenth of the best's"
    left_out |= {name: f"left out: {number(speed)} {drags}" for name, speed in slow.items()}
    slowest = min(speeds.keys() - slow.keys(), key=lambda name: (speeds[name], name))
    limits_s = {name: level.knee_p99_s for name, level in levels.items() if level.knee_p99_s}
    searched = {name: knee(table_records.table.scenario, limit_s) for name, limit_s in limits_s.items()}
    found_knees = {name: lowest for name, lowest in searched.items() if lowest}
    wanted = {name: shares[name] * speeds[slowest] for name, level in levels.items() if not level.knee_p99_s}
    wanted |= {name: shares[name] * rate for name, (_, rate) in found_knees.items()}
    return replace(
        common_rates,
        slowest=slowest,
        left_out=left_out,
        # A knee may exceed `most`, which is only an estimate: at the knee the client was on time and had CPU to spare.
        rates={level: _rounded(rate if level in found_knees else min(rate, most)) for level, rate in wanted.items()},
        capped=tuple(level for level, rate in wanted.items() if rate > most and level not in found_knees),
        knees={level: service for level, (service, _) in found_knees.items()},
    )


def _speeds(table_records: TableRecords) -> tuple[dict[str, float], dict[str, str]]:
    """The speed of each service, from its first usable window; and for the others, why they have none."""
    speeds: dict[str, float] = {}
    unknown: dict[str, str] = {}
    for name in table_records.table.services:
        causes = ["it was not loaded in the first round"]
        for record in table_records.of(name):
            against = causes_beside(record, TELLS_SPEED)
            speed = record.speed or record.goodput
            if speed and not against:
                speeds[name] = speed
                break
            causes = [f"{one.cause}: {one.detail}" for one in against] or ["no response was good"]
        else:
            unknown[name] = f"left out: its speed is not known ({causes[0]})"
    return speeds, unknown


def _rounded(rate: float) -> int:
    """Rounded down to two digits: precise enough, and easy to read."""
    unit = 10 ** max(0, math.floor(math.log10(max(rate, 1.0))) - 1)
    return max(1, int(rate // unit * unit))


def with_rates(run: str, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps with their common rates, without loads at common rates that are not known."""

    @cache
    def decided(table: LoadKey) -> Mapping[str, Any] | None:
        return as_object(read_bytes(f"{run}/{path_of(table)}") or b"")

    for step in steps:
        rated = (at_common_rate(line, decided(line.table)) for line in step.lines)
        yield Step(tuple(line for line, why in rated if not why))

"""Runs side by side: the figures that two or more of them have, without verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from bench.analysis.cells.cell import cells_of
from bench.analysis.runs.compatibility import ComparedRun
from bench.analysis.tables.latency import AtCommonRates, latencies_of
from bench.analysis.tables.observations import by_table, figure, left_out, limited_services
from bench.analysis.tables.ranking import Metric, Percentile
from bench.core.formats import NOTHING, number, percent
from bench.records.record import Record
from bench.render.table import Column, Table, table_of
from bench.render.text import NOTES
from bench.tools.levels import LoadKey
from bench.validity.run_rules import BOUND
from bench.words.cells import rate_words, state_words
from bench.words.latency import in_milliseconds, load_words, percentile_name, spread
from bench.words.names import level_words
from bench.words.picture import estimate_words

REQUESTS, CPU = "requests/s", "CPU per request"


@dataclass(frozen=True, slots=True)
class Key:
    """What a row is about; `figure`: requests/s, CPU per request, or a percentile of latency."""

    load: str
    service: str
    figure: str


@dataclass(frozen=True, slots=True)
class Side:
    """One run's figure as text, or why it has none; `value` is None if there is none, or only a bound."""

    words: str
    value: float | None = None


Sides = Mapping[Key, Side]


def figures_of(run: ComparedRun, loaded: AtCommonRates) -> Sides:
    """The figures of a run, measured alone, in tables and at common rates; pure."""
    return dict([*_alone(run), *_of_tables(run), *_at_common_rates(run, loaded)])


def _load(load: LoadKey) -> str:
    return f"{load.scenario} {load.tool}, {level_words(load.level)}"


def _alone(run: ComparedRun) -> Iterator[tuple[Key, Side]]:
    """Of an open loop, requests/s are given and no result."""
    for cell in cells_of((record for record in run.records if record.mode in ("solo", "null")), [*run.services]):
        load = _load(cell.first.load)
        if cell.first.connections is not None:
            rate = None if cell.has(BOUND) else cell.goodput
            yield Key(load, cell.service, REQUESTS), Side(rate_words(cell), rate)
        cpu_s = cell.cpu_per_success_s
        if cpu_s is not None or not cell.counted:
            words = state_words(cell) if cpu_s is None else f"{number(1e6 * cpu_s)} µs"
            yield Key(load, cell.service, CPU), Side(words, cpu_s)


def _of_tables(run: ComparedRun) -> Iterator[tuple[Key, Side]]:
    """Requests/s are the speed that ranks a table; at a common rate they are given."""
    for measured in by_table(run.run.tables, run.records):
        at_rate = any(record.rate for record in measured.records)
        load = _load(measured.table.key) + ("" if at_rate else ", in turns")
        speed = Metric.SPEED if measured.metric is Metric.SPEED else Metric.GOODPUT
        limited = limited_services(measured.records)
        for service in measured.table.services:
            records = measured.of(service)
            if not records:
                continue
            if not at_rate:
                side = _side(records, speed)
                bounded = service in limited and side.value is not None
                yield Key(load, service, REQUESTS), Side(f"at least {side.words}") if bounded else side
            yield Key(load, service, CPU), _side(records, Metric.CPU, 1e6, " µs")


def _side(records: list[Record], metric: Metric, scale: float = 1.0, unit: str = "") -> Side:
    estimate = figure(records, metric, scale)
    if estimate is None:
        return Side(", ".join(left_out(records, metric)))
    mean, span = estimate_words(estimate)
    return Side(f"{mean} ({span}){unit}" if span else f"{mean}{unit}", estimate.mean)


def _at_common_rates(run: ComparedRun, loaded: AtCommonRates) -> Iterator[tuple[Key, Side]]:
    for table in run.run.tables:
        for latency in latencies_of(table, run.records, loaded):
            load = _load(LoadKey(table.scenario, latency.tool, latency.level))
            for service in table.services:
                for percentile in latency.percentiles:
                    side = _percentile(percentile, service, load_words(latency))
                    yield Key(load, service, percentile_name(latency, percentile.metric)), side


def _percentile(percentile: Percentile, service: str, rate: str) -> Side:
    """The rate may follow from the speeds of its run, so it is part of the text."""
    known, words = percentile.figures.get(service), in_milliseconds(percentile, service)
    if words == NOTHING:
        return Side(percentile.missing.get(service, NOTHING))
    span = spread(known) if known else ""
    return Side(f"{words}{f' ({span})' if span else ''} ms at {rate}", known.mean if known else None)


def runs_table(runs: Mapping[str, Sides]) -> Table:
    """A row for each figure that two or more runs have, and a column for each run; of two, also the change."""
    keys = dict.fromkeys(key for run in runs.values() for key in run)
    columns: list[Column[Key]] = [
        Column("load", lambda key: key.load, left=True),
        Column("service", lambda key: key.service, left=True),
        Column("figure", lambda key: key.figure, left=True),
        *(Column(name, partial(_words, run)) for name, run in runs.items()),
    ]
    if len(runs) == 2:
        (first, before), (_, after) = runs.items()
        columns.append(Column(f"against {first}", partial(_change, before, after)))
    rows = [key for key in keys if sum(key in run for run in runs.values()) > 1]
    nothing = [] if rows else ["The runs have no measured figure in common."]
    return table_of("Runs side by side", columns, rows, [*nothing, NOTES["runs"]])


def _words(run: Sides, key: Key) -> str:
    return run[key].words if key in run else NOTHING


def _change(before: Sides, after: Sides, key: Key) -> str:
    one, other = before[key].value, after[key].value
    return percent(other / one, "+z") if one and other is not None else NOTHING

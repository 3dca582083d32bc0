"""The tables of services measured alone: one per scenario, with a row for each service under each load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bench.analysis.cells.cell import Cell
from bench.analysis.cells.compared import Compared, compared, is_knee
from bench.analysis.cells.knees import confirmed
from bench.analysis.cells.latency import LatenciesByCell, counted, latency_key
from bench.analysis.published import ReferenceComparison
from bench.core.formats import NOTHING, milliseconds, number, share, times
from bench.core.groups import grouped
from bench.load.knee_search import APART
from bench.records.knee import CONFIRMATIONS
from bench.render.table import Column, Table, table_of, written
from bench.render.text import NOTES
from bench.tools.send_lag import BEYOND, ROUNDS, least_requests
from bench.words.cells import doubts, rate_words, ratio_words, span_words

LABELS: Mapping[str, str] = {"goodput": "", "p50_ms": "p50 ", "p99_ms": "p99 "}
"""How the ratio of a figure begins."""


def tables_alone(
    cells: Sequence[Cell], reference: ReferenceComparison | None, latencies: LatenciesByCell
) -> list[Table]:
    """A table for each scenario."""
    return [_table(own, reference, latencies) for own in grouped(cells, lambda cell: cell.first.scenario).values()]


def notes_alone(cells: Sequence[Cell], tables: Iterable[Table]) -> list[str]:
    """What a reader of these tables must know, once for all of them."""
    shown = {name for table in tables for name in table.columns}
    at_target = [cell for cell in cells if cell.first.rate and (cell.goodput or 0) >= 0.99 * cell.first.rate]
    notes = {
        "base": "ratio" in shown,
        "cpu": "CPU/request" in shown,
        "closed_loop": any(cell.first.connections is not None for cell in cells),
        "closed": any(cell.first.level.closes for cell in cells),
        "open_loop": any(cell.first.connections is None for cell in cells),
        "knee": any(is_knee(cell.first) for cell in cells),
        "at_target": not all(is_knee(cell.first) for cell in at_target),
    }
    return [note(name) for name, needed in notes.items() if needed]


def note(name: str) -> str:
    """A note of notes.toml."""
    of_knees = {"more": 100 * (APART - 1), "confirmations": CONFIRMATIONS}
    return NOTES[name].format(beyond=BEYOND, rounds=ROUNDS, requests=least_requests(0.99), **of_knees)


def _table(cells: Sequence[Cell], reference: ReferenceComparison | None, latencies: LatenciesByCell) -> Table:
    rows = [*compared(cells, reference)]
    ratios = [
        Column("ratio", _ratio_words),
        Column("published", _published_words, optional=True),
    ]
    columns: list[Column[Compared]] = [
        Column("service", lambda row: row.cell.service, left=True),
        Column("tool", lambda row: row.cell.first.tool, left=True),
        Column("level", lambda row: str(row.cell.first.level), left=True),
        Column("requests/s", lambda row: _rate_words(row.cell)),
        Column("CPU/request", lambda row: written(row.cell.cpu_per_success_s, milliseconds), optional=True),
        Column("p50", lambda row: _percentile("p50", row.cell, latencies), optional=True),
        Column("p99", lambda row: _percentile("p99", row.cell, latencies), optional=True),
        *(ratios if any(not row.is_base for row in rows) else []),
        Column("why not valid", lambda row: _why_not(row.cell), left=True, optional=True),
    ]
    title = f"{cells[0].first.scenario}, measured alone"
    return table_of(title, columns, rows, _axes(cells, reference))


def _rate_words(cell: Cell) -> str:
    if not is_knee(cell.first):
        return rate_words(cell) if cell.counted or cell.valid else NOTHING
    found, held, later = confirmed(cell.records)
    return f"{number(found.knee_rate or 0)} (held in {held} of {later} later rounds)" if found else NOTHING


def _percentile(name: str, cell: Cell, latencies: LatenciesByCell) -> str:
    if cell.first.connections is not None:
        return span_words(cell.counted, lambda record: record.latency_s[name], milliseconds)
    found, _, _ = confirmed(cell.records)
    keys = {latency_key(record) for record in ([found] if found else counted(cell.records))}
    if len(keys) > 1:
        return "rates differ"
    merged = next((latencies[key] for key in keys if key in latencies), None)
    if merged is None:
        return NOTHING
    seconds, bound = merged.percentiles_s[name], merged.bounds_s.get(name)
    if seconds is None and bound is None:
        return merged.missing[name]
    words = milliseconds(seconds) if bound is None else f"≤ {milliseconds(bound)}"
    return words if merged.rounds == len(cell.records) else f"{words} ({merged.rounds} of {len(cell.records)} rounds)"


def _ratio_words(row: Compared) -> str:
    if row.is_base:
        return "base"
    words = [f"{LABELS[name]}{ratio_words(ratio)}" for name, ratio in row.ratios().items()]
    return ", ".join(words) or NOTHING


def _published_words(row: Compared) -> str:
    words = [f"{LABELS[name]}{times(ratio)}" for name, ratio in row.published.items()]
    if row.is_base and row.published:
        words = ["base"]
    if row.success is not None:
        words.append(f"{share(row.success)} succeeded")
    return ", ".join(words) or NOTHING


def _why_not(cell: Cell) -> str:
    if not is_knee(cell.first):
        return "; ".join(f"{cause}: {detail}" for cause, detail in cell.causes.items()) or NOTHING
    doubt = doubts(cell.records)
    return f"not confirmed: {doubt}" if doubt and confirmed(cell.records)[0] else doubt or NOTHING


def _axes(cells: Sequence[Cell], reference: ReferenceComparison | None) -> Iterator[str]:
    """Published ratios along an axis, whose versions and Pythons are not ours."""
    if reference is None:
        return
    for level in dict.fromkeys(cell.first.level for cell in cells):
        for group in reference.groups:
            if not group.axis or not group.holds(cells[0].first.scenario, level):
                continue
            base, *others = group.figures
            ratios = ", ".join(f"{figure.name} {times(group.ratio(figure))}" for figure in others)
            yield f"Published at {level} with {group.of}, relative to {base.name}: {ratios}."

"""What a user's own app costs on each server: for the top of the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.analysis.services import own_app_of, price_of, service_of, worker_count
from bench.analysis.tables.ranking import RankedRow, Ranking
from bench.core.formats import NOTHING, number
from bench.records.record import Record
from bench.render.table import Table
from bench.render.tables.costs import MB
from bench.run.reader import ServiceFacts
from bench.words.setup import request_words

COLUMNS = ("tier", "server", "worker model", "workers", "Python", "requests/s", "requests/s per core")
COSTS = ("CPU seconds per million requests", "idle memory", "memory under load", "start-up")
PRICE = "cost of a million requests"


def own_app_tables(
    facts: Mapping[str, Any],
    rankings: Iterable[Ranking],
    records: Sequence[Record],
    services: Mapping[str, ServiceFacts],
) -> list[Table]:
    """A table for each ranking, in its order; none in a run of the matrix."""
    app = own_app_of(facts)
    if not app:
        return []
    priced = app.get("cpu_hour_price") is not None
    idle = {record.service: record.memory_idle_bytes for record in records}
    starts = {name: service.start_s for name, service in services.items()}
    notes = ["A million requests take as many CPU seconds as one takes microseconds."]
    if any(starts.values()):
        notes.append("Start-up is from the container's start to the first answer, looked for ten times a second.")
    if priced:
        notes.append(f"The cost is that of the server's CPU time alone, at {app['cpu_hour_price']:g} per CPU hour.")
    return [
        Table(
            request_words(app, ranking.scenario),
            (*COLUMNS, *COSTS, *((PRICE,) if priced else ())),
            tuple(_row(facts, row, idle.get(row.service), starts.get(row.service), priced) for row in ranking.rows),
            labels=5,
            notes=tuple(notes),
        )
        for ranking in rankings
    ]


def _row(
    facts: Mapping[str, Any], row: RankedRow, idle: int | None, start_s: float | None, priced: bool
) -> tuple[str, ...]:
    entry = service_of(facts, row.service)
    cpu = row.cpu_us.mean if row.cpu_us else None
    price = price_of(own_app_of(facts), cpu) if cpu else None
    words = (
        str(row.tier or NOTHING),
        str(entry.get("server", row.service)),
        str(entry.get("model") or NOTHING),
        NOTHING if entry.get("url") else worker_count(facts),
        str(entry.get("python") or NOTHING),
        NOTHING if row.goodput is None else number(row.goodput.mean),
        NOTHING if not cpu else number(1e6 / cpu),
        NOTHING if not cpu else number(cpu),
        *(NOTHING if size is None else f"{number(size / MB)} MB" for size in (idle, row.memory_peak_bytes)),
        NOTHING if start_s is None else f"{number(start_s)} s",
    )
    return (*words, NOTHING if price is None else number(price)) if priced else words

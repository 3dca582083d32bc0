"""Judging a run: records and verdicts are derived from its raw files and saved beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from bench.analysis.events import EventCell
from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.latency import read_at_common_rates
from bench.analysis.tables.ranking import TableLatency
from bench.core.files import write_file
from bench.records.event import FILE as EVENTS
from bench.records.file import read_events
from bench.records.make_event import event_records
from bench.records.record import Record, dump
from bench.run.folder import UNPACKED, find_run
from bench.run.reader import Run, ServiceFacts, read_run, read_service
from bench.validity.run_records import Seen, reviewed, service_names
from bench.words.conclusions import RankingText, describe_rankings
from bench.words.event_words import words_of
from bench.words.events import EventsText, describe_events
from bench.words.latency import percentile_name


class JudgedRun(NamedTuple):
    """What a run's report is made of; `services` in the order of the report, `events` None without any."""

    source: Run
    services: Mapping[str, ServiceFacts]
    records: Sequence[Record]
    rankings: Sequence[RankingText]
    events: EventsText | None


def judge_run(folder: Path, seen: Seen | None = None) -> JudgedRun:
    """Write records.jsonl and verdicts.jsonl of a run."""
    source = read_run(str(folder))
    services = {name: read_service(source.path, name) for name in service_names(source)}
    records = reviewed(source, services, seen)
    absent = {name: ": ".join(facts.failure) for name, facts in services.items() if facts.failure}
    loaded = read_at_common_rates(source.path, source.facts, records)
    rankings = describe_rankings(judge_tables(source.facts, records, absent, loaded), source.facts, records, services)
    write_file(folder / "records.jsonl", "".join(dump(records)))
    if under_events := event_records(source):
        write_file(folder / EVENTS, "".join(dump(under_events)))
    lines = [line for ranking in rankings for line in verdict_lines(ranking)]
    events = describe_events(under_events or read_events(folder), source.facts)
    lines += event_lines(events)
    write_file(folder / "verdicts.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    return JudgedRun(source, services, records, rankings, events)


def find_judged(name: str, needs: str = "plan.jsonl") -> Path:
    """`find_run` for readers of records or verdicts: a published run is first judged by the rules of this version."""
    folder = find_run(name, needs)
    if folder.parent == UNPACKED:
        judge_run(folder)
    return folder


def verdict_lines(text: RankingText) -> Iterator[dict[str, Any]]:
    """The lines of verdicts.jsonl on a table: its services, then contrasts, then latency."""
    ranking = text.ranking
    table: dict[str, Any] = dict(zip(("scenario", "tool", "level"), map(str, ranking.table), strict=True))
    table |= {"judge": str(ranking.metric), "rounds": ranking.rounds, "confidence": ranking.confidence}
    for row in ranking.rows:
        figures = asdict(row)
        del figures["remarks"]
        words = {"service": row.service, "label": text.labels[row.service]}
        last = {"note": text.notes[row.service], "smallest_visible": figures.pop("smallest_visible")}
        yield {"kind": "service", **table, **words, **figures, **last, "settled": ranking.settled}
    for contrast in ranking.contrasts:
        yield {"kind": "contrast", **table, **asdict(contrast), "settled": ranking.settled}
    for latency in ranking.latencies:
        yield from _latency_lines({"scenario": ranking.scenario, "table": f"{ranking.tool} {ranking.level}"}, latency)


def event_lines(events: EventsText | None) -> Iterator[dict[str, Any]]:
    """The lines of verdicts.jsonl on events: the cells of each row, then what is compared."""
    for row in events.rows if events else ():
        place = {"event": row.row.event, "case": row.row.case.text}
        for name, cell in row.row.cells.items():
            words = {"kind_of_cell": cell.kind, "words": row.cells[name].line(), "reason": cell.reason or None}
            yield {"kind": "event", **place, "service": name, **_event_figures(cell), **words}
        for one in (*row.row.contrasts, *row.row.apart):
            yield {"kind": "event-contrast", **place, **asdict(one)}


def _event_figures(cell: EventCell) -> dict[str, Any]:
    """A cell's totals over its rounds, and the event's own figures in each round."""
    if not cell.counted:
        return {"rounds": 0}
    figures: dict[str, Any] = {"rounds": len(cell.counted), "lost": cell.lost, "sent": cell.sent}
    figures |= {"longest_gap_s": cell.gap_s, "never_back": cell.gone, "not_as_before": cell.disturbed}
    figures |= words_of(cell.event).verdict(cell)
    names = dict.fromkeys(name for record in cell.counted for name in record.extras)
    return figures | {"figures": {name: [record.extras.get(name) for record in cell.counted] for name in names}}


def _latency_lines(table: Mapping[str, Any], latency: TableLatency) -> Iterator[dict[str, Any]]:
    """A line for each service and percentile, in seconds, then one for each contrast of the percentile."""
    for percentile in latency.percentiles:
        load = {**table, "tool": latency.tool, "level": latency.level.text, "rate": latency.rate}
        load |= {"judge": percentile_name(latency, percentile.metric), "confidence": latency.confidence}
        for service in percentile.ordered:
            figures = {**asdict(percentile.figures[service]), "missing": None, "at_most": None}
            yield {"kind": "latency", **load, "service": service, "rounds": latency.rounds[service], **figures}
        for service, why in percentile.missing.items():
            none: dict[str, Any] = dict.fromkeys(("mean", "low", "high"))
            at_most = percentile.at_most.get(service)
            none |= {"rounds": latency.rounds.get(service, 0), "missing": why, "at_most": at_most}
            yield {"kind": "latency", **load, "service": service, **none}
        for contrast in percentile.contrasts:
            yield {"kind": "latency-contrast", **load, **asdict(contrast)}

"""Makes a synthetic run measured in turns, its page and the rankings at its top.

`python tests/support/ranking_run.py FOLDER` writes its pages for a look at them.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from make_run import entry, output_of, write_measurement, write_run

from bench.analysis.findings import findings_of
from bench.analysis.tables.ranking import Contrast, Figure, Metric, RankedRow, Ranking
from bench.export.judged_run import judge_run
from bench.records.record import Record
from bench.render.page import document
from bench.render.page.windows import WindowDetails, window_details_of
from bench.render.report import Report
from bench.tools.levels import Level
from bench.words.conclusions import RankingText

JSON_US = {"bjoern-wsgi": 92, "uvicorn-asgi": 131, "aiohttp": 133, "gunicorn-sync-wsgi": 198}
JSON_US |= {"tornado": 231, "gunicorn-sync-flask": 372, "gunicorn-gevent-flask": 411, "werkzeug-flask": 1240}
"""CPU time per request of /json, in us."""
DELAY = {"uvicorn-asgi": 764, "aiohttp": 760, "tornado": 755, "gunicorn-gevent-flask": 741}
DELAY |= {"gunicorn-sync-wsgi": 48.9, "gunicorn-sync-flask": 48.7, "bjoern-wsgi": 48.6, "werkzeug-flask": None}
"""Requests/s of a route that waits for 20 ms."""
SENTENCES = (
    "bjoern-wsgi is fastest; werkzeug-flask comes last: 13 times as much CPU per request as bjoern-wsgi (13 to 14).",
    "uvicorn-asgi and aiohttp cannot be told apart (within ±2.4 %).",
    "With flask, gunicorn's sync workers served 10 % more requests per CPU second than its gevent workers (9 to 12 %).",
)
ERRORS = "errors: 2 % of the responses were a 500 in all of its 12 windows"
WAITING = (
    "uvicorn-asgi, aiohttp, tornado and gunicorn-gevent-flask are fastest and cannot be told apart (within ±3 %).",
    "With flask, gunicorn's gevent workers served 15 times what its sync workers did (14 to 16).",
)


def ranking(
    given: Mapping[str, float | None], scenario: str, cpu: bool, sentences: Sequence[str], spread: float = 0.03
) -> RankingText:
    """The ranking of a table; services without a figure have no rank."""
    known = {name: value for name, value in given.items() if value is not None}
    best = min(known.values()) if cpu else max(known.values())
    rows, tier, head = [], 1, 1.0
    for place, (name, value) in enumerate(known.items(), 1):
        speed = best / value if cpu else value / best
        if head / speed > 1 + 1.5 * spread:
            tier, head = tier + 1, speed
        mean = 1e6 / value * 0.97 if cpu else value
        low, high = (speed * math.exp(side * spread) - 1 for side in (-1, 1))
        row: dict[str, Any] = {"rank": place, "tier": tier, "difference": speed - 1, "windows": 12, "left_out": 0}
        row |= {"interval": None if place == 1 else (low, high), "goodput": Figure(mean, mean * 0.98, mean * 1.02)}
        row |= {"cpu_us": Figure(value, value * 0.99, value * 1.01) if cpu else None}
        rows.append(RankedRow(service=f"{name}-py313-debian", memory_loaded_bytes=(50 + place) << 20, **row))
    lost = [name for name in given if name not in known]
    rows += [without_a_figure(f"{name}-py313-debian") for name in lost]
    contrasts = tuple(contrast(a, b, spread) for a, b in combinations([row for row in rows if row.rank], 2))
    what = f"Least CPU per {scenario} response" if cpu else f"Most requests/s of {scenario}"
    table: dict[str, Any] = {"scenario": scenario, "tool": "wrk", "level": Level.read("c16"), "confidence": 0.95}
    table |= {"metric": Metric.CPU if cpu else Metric.GOODPUT, "settled": cpu}
    return RankingText(
        ranking=Ranking(**table, rounds=6, looks=(4, 6), look=6, rows=tuple(rows), contrasts=contrasts),
        question=f"{what}, {len(rows)} services: wrk, 16 connections",
        sentences=tuple(sentences),
        labels={row.service: row.service.removesuffix("-py313-debian") for row in rows},
        notes={row.service: "" if row.rank else ERRORS for row in rows},
    )


def contrast(a: RankedRow, b: RankedRow, spread: float) -> Contrast:
    """A row against one before it: equal in the same tier, else slower."""
    speed = (1 + (b.difference or 0.0)) / (1 + (a.difference or 0.0))
    low, high = (speed * math.exp(side * spread) - 1 for side in (-1, 1))
    judged: dict[str, Any] = {"verdict": "slower", "smallest_visible": None}
    if a.tier == b.tier:
        judged = {"verdict": "equal", "smallest_visible": spread / 2}
    return Contrast(a=a.service, b=b.service, difference=speed - 1, interval=(low, high), **judged)


def without_a_figure(service: str) -> RankedRow:
    none = dict.fromkeys(("rank", "tier", "difference", "interval", "goodput", "cpu_us", "memory_loaded_bytes"))
    return RankedRow(service=service, windows=0, left_out=0, **none)  # type: ignore[arg-type]


def changed(text: RankingText, number: int = 0, row: Mapping[str, Any] | None = None, **changes: Any) -> RankingText:
    """The ranking with other values in it and in one of its rows."""
    rows = [*text.ranking.rows]
    rows[number] = replace(rows[number], **(row or {}))
    return replace(text, ranking=replace(text.ranking, rows=tuple(rows), **changes))


def two_tables() -> list[RankingText]:
    return [ranking(JSON_US, "json", True, SENTENCES), ranking(DELAY, "delay-20", False, WAITING)]


def many_services(count: int = 60) -> list[RankingText]:
    rng = random.Random(8)
    names = [f"{server}-{framework}" for framework in FRAMEWORKS for server in SERVERS][: count - 2]
    given: dict[str, float | None] = {name: 70 * 1.045**at * rng.uniform(1, 1.03) for at, name in enumerate(names)}
    given |= {"hypercorn-django": None, "robyn": None}
    return [ranking(given, "plaintext", True, SENTENCES * 3, 0.05)]


SERVERS = ("bjoern", "granian-wsgi", "gunicorn-gthread", "gunicorn-gevent", "uwsgi", "waitress", "cheroot")
FRAMEWORKS = ("wsgi", "falcon", "bottle", "flask", "pyramid", "django", "hug", "aiohttp", "starlette")


def page(folder: Path, rankings: Sequence[RankingText], **facts: Any) -> Path:
    """The page of a run with these rankings, and two rounds in turns of eight services."""
    cells = [(name, text.ranking.scenario, "wrk", "c16") for text in two_tables() for name in text.labels.values()]
    lines = [entry(*cell, number=number, round=turn) for turn in (1, 2) for number, cell in enumerate(cells, 1)]
    title = "Quick look: eight services, two scenarios, four tools"
    write_run(folder, lines, **({"title": title} | facts))
    for line in lines:
        stack = line["service"].removesuffix("-py313-debian")
        speed = DELAY[stack] or 45 if line["scenario"] == "delay-20" else 1e6 / JSON_US[stack]
        write_measurement(folder, line, output_of(line, speed), cpu_s=0.9)
    windows: list[WindowDetails] = []
    judged = judge_run(folder, lambda raw: windows.append(window_details_of(raw)))
    source, services, records, found = judged.source, judged.services, judged.records, judged.rankings
    report = Report(source, services, findings_of(records, source.facts, services), found, {})
    records = list(map(_in_turns, records))
    file = folder / "index.html"
    made = document.html(source, services, records, windows=windows, latencies={}, report=report, rankings=rankings)
    file.write_text(made)
    return file


def _in_turns(record: Record) -> Record:
    """The record as if measured in turns, where tools cannot measure latency."""
    nulls = record.nulls | {f"latency_s.{name}": "measured in turns" for name in record.latency_s}
    return replace(record, mode="turns", causes=(), latency_s=dict.fromkeys(record.latency_s), nulls=nulls)


if __name__ == "__main__":
    for name, tables in (("two", two_tables()), ("many", many_services())):
        print(page(Path(sys.argv[1]) / name, tables))

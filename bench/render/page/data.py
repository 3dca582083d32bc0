"""The page's data: cells, measurements and services as columns, ready for JSON.

Statistics are computed here: the page's scripts only filter, sort and draw. Repeated words (services, causes) are
stored once in `words`, and columns hold their index in it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median_low
from typing import Any

from bench.analysis.cells.cell import Cell, natural
from bench.analysis.cells.latency import LatenciesByCell, merged_of
from bench.analysis.profiles.sampled import Profile
from bench.analysis.profiles.stacks import NO_PYTHON, Stack
from bench.analysis.services import waits_of
from bench.analysis.tables.ranking import Percentile, RankedRow, Ranking
from bench.core.files import as_object, items, mapping, read_bytes
from bench.core.formats import capital
from bench.core.formats import number as written
from bench.core.groups import grouped
from bench.plan.measurement import MODES
from bench.records.record import Record
from bench.render.columns import against_words
from bench.render.page.windows import WindowDetails
from bench.render.text import brief, rounded, short
from bench.run.facts import AppFacts, RunService
from bench.run.raw_files import OF_TURNS
from bench.run.reader import SOURCES, Run, ServiceFacts
from bench.stats.estimates import mean_interval
from bench.tools.levels import Level, LoadKey
from bench.validity.run_rules import NoiseLimits, ceilings_of, noise_limits_of, noise_of
from bench.words.cells import state_words
from bench.words.changes import column_name
from bench.words.conclusions import RankingText
from bench.words.latency import WHAT
from bench.words.latency import pair_words as latency_pair_words
from bench.words.names import level_words
from bench.words.order import pair_words
from bench.words.own_app import elsewhere, seen_from_project
from bench.words.remarks import waits_words
from bench.words.texts import TEXTS
from bench.words.units import in_units

CONFIDENCE = 0.95
"""Confidence of the interval of a mean over the rounds; a verdict has its own."""
LEAST_SHARE = 0.001
"""Functions with a smaller share of samples, callees included, are too narrow to be seen in a flame graph."""
DEEPEST = 200
COORDINATES = ("service", "server", "framework", "python", "base", "settings", "scenario", "tool", "level", "mode")


CELL = ("mode", "scenario", "tool", "level", "service")
"""What the measurements of a cell have in common."""
Columns = dict[str, list[Any]]
"""Columns of equal length, by their names in the page's scripts."""


def page_data(
    source: Run,
    services: Mapping[str, ServiceFacts],
    records: Sequence[Record],
    windows: Sequence[WindowDetails],
    *,
    latencies: LatenciesByCell,
    rankings: Sequence[RankingText] = (),
    profiles: Iterable[Profile] = (),
) -> dict[str, Any]:
    """What the page's scripts read, ready for JSON."""
    words: defaultdict[str, int] = defaultdict(lambda: len(words))  # each word once, by its index
    cells = _cells_and_places(records)
    limits = noise_limits_of(source.facts.knobs)
    # Cells in turns show the figures of these rows.
    figures: dict[tuple[LoadKey, str], RankedRow] = {
        (text.ranking.table, row.service): row for text in rankings for row in text.ranking.rows
    }
    columns: dict[str, Any] = {
        "cells": _cells(cells, records, latencies, words, figures, limits=limits),
        "measurements": _measurements(cells, records, windows, limits, words),
        "curves": _curves(cells, latencies),
    }
    idle = {record.service: record.memory_idle_bytes for record in records if record.memory_idle_bytes}
    facts = {
        "schema": 1,
        "title": source.facts.name,
        "name": source.facts.run or "run",
        "confidence": CONFIDENCE,
        "limits": {"steal": limits.steal, "foreign": limits.foreign},
        "commit": source.facts.harness.commit,
        "services": {
            name: _service(source, name, services.get(name), idle.get(name))
            for name in dict.fromkeys(r.service for r in records)
        },
        "rankings": [*map(_ranking, rankings)],
        "levels": {level.text: _level_words(level) for level in _levels(records, rankings)},
        "said": {**TEXTS["page"], "stopped": OF_TURNS},
        "latencies": [entry for text in rankings for entry in _latencies(text)],
        "words": [*words],
    }
    if flames := [_flame(one) for one in profiles if not one.missing]:
        columns["flames"] = rounded(flames)
    return rounded(facts) | columns  # type: ignore[no-any-return]


def _levels(records: Iterable[Record], rankings: Sequence[RankingText]) -> dict[Level, None]:
    tables = [text.ranking for text in rankings]
    rates = (latency.level for table in tables for latency in table.latencies)
    return dict.fromkeys([*(one.level for one in records), *(table.level for table in tables), *rates])


def _level_words(level: Level) -> str:
    """A level in words, for which a knee's name is too short."""
    if level.knee_p99_s is None:
        return level_words(level)
    share = f"{100 * level.knee_share:.0f} % of the knee" if level.knee_share else "knee"
    return f"{share} (p99 ≤ {1000 * level.knee_p99_s:g} ms)"


def _ranking(text: RankingText) -> dict[str, Any]:
    """A table in turns: its load, and its services from the best to unranked ones; the first `ranked` have a rank."""
    ranking = text.ranking
    services = [row.service for row in ranking.rows]
    return {
        **{name: str(getattr(ranking, name)) for name in ("scenario", "tool", "level", "metric")},
        "services": services,
        "labels": [text.labels[name] for name in services],
        "ranked": sum(row.rank is not None for row in ranking.rows),
        "against": in_units(column_name(ranking.metric, "{0}"), ranking.unit),
    }


def _latencies(text: RankingText) -> Iterator[dict[str, Any]]:
    """The same for each percentile at a common rate: services from the lowest to those without a figure."""
    for latency in text.ranking.latencies:
        for percentile in latency.percentiles:
            services = [*percentile.ordered, *percentile.missing]
            yield {
                **{"scenario": " ".join(filter(None, (text.ranking.scenario, WHAT.get(latency.timed))))},
                **{"tool": latency.tool, "level": latency.level.text},
                **{"metric": str(percentile.metric), "rate": latency.rate, "services": services},
                **{"labels": [text.labels[name] for name in services], "ranked": len(percentile.figures)},
            }


def pairs_data(rankings: Sequence[RankingText]) -> list[dict[str, Any]]:
    """The sentences on every pair of ranked services of each table, then of each percentile.

    Pairs are in the order of the rows: first with second, first with third, and so on. `words` has for each service a
    line on each later one, since a few long texts are read faster than many short ones; an empty line: they were never
    compared. `{0}` and `{1}` stand for the earlier and the later service. `open` has a letter for each pair: o if no
    difference is shown. `against` has for each service of a table all of them against it, a line each.
    """
    tables: list[dict[str, Any]] = []
    for text in rankings:
        names = [row.service for row in text.ranking.rows if row.rank is not None]
        lines = ["\n".join(against_words(text.ranking, name, base) for name in names) for base in names]
        tables.append(_pairs(text.ranking, names) | {"against": lines})
    rated = (latency for text in rankings for latency in text.ranking.latencies)
    return tables + [_pairs(one, one.ordered) for latency in rated for one in latency.percentiles]


def _pairs(ranking: Ranking | Percentile, names: Sequence[str]) -> dict[str, Any]:
    return {
        "count": len(names),
        "open": "".join("-" if ranking.apart(a, b) else "o" for a, b in combinations(names, 2)),
        "words": ["\n".join(_said(ranking, a, b) for b in names[place:]) for place, a in enumerate(names, 1)],
    }


def _said(ranking: Ranking | Percentile, a: str, b: str) -> str:
    names = {a: "{0}", b: "{1}"}
    if ranking.ahead(a, b) is None:
        return ""
    if isinstance(ranking, Percentile):
        return latency_pair_words(ranking, a, b, names)
    words = in_units(pair_words(ranking, a, b, names), ranking.unit)
    return capital(words) if words.startswith("no winner") else words


def _cells_and_places(records: Iterable[Record]) -> list[tuple[Cell, list[int]]]:
    """Cells with the indices of their records; each mode (solo, turns, null server) has its own cells."""
    groups = grouped(enumerate(records), lambda at: tuple(getattr(at[1], name) for name in CELL))
    # Solo windows first.
    order = sorted(groups, key=lambda key: (MODES.index(key[0]), *map(natural, map(str, key))))
    return [(Cell(tuple(record for _, record in groups[key])), [place for place, _ in groups[key]]) for key in order]


def _service(source: Run, name: str, facts: ServiceFacts | None, idle: int | None) -> dict[str, Any]:
    service, app = source.facts.service(name), source.facts.own_app
    known: dict[str, Any] = {"package": service.package, "idle_bytes": idle}
    known |= _paths(service, app)
    caveats = service.caveats
    known |= {key: caveats[key] for key in ("development", "stall", "adds", "sets") if key in caveats}
    if "default" in caveats:
        known["own_default"] = f"{caveats['default']} ({caveats.get('source')})"
    if facts is not None:
        known |= {
            **({"command": facts.command.text} if facts.command else {}),
            **({"elsewhere": there} if app and (there := elsewhere(app, service, facts)) else {}),
            **({"waits": waits_words(found)} if (found := waits_of(source.facts, {name: facts}).get(name)) else {}),
            "image": facts.image_id,
            "base_made": facts.base_label,
            "python_build": facts.python_build,
            "packages": [f"{package} {version}" for package, version in facts.packages.items()],
            "versions": service.own_packages(facts.packages),
            "missing": dict(facts.missing),
            "failure": None if facts.failure is None else ": ".join(facts.failure),
        }
    return known | {"checks": _checks(source.path, name)}


def _paths(service: RunService, app: AppFacts | None) -> dict[str, str]:
    """Where a service's start script and app are in the project; for a user's own app, the app and its folder."""
    if service.url or not (service.server and service.framework):
        return {}
    start = {"start": service.start or f"services/servers/{service.server}/start"}
    if app and service.framework == app.name:
        return start | {"entry": f"{app.app} in {seen_from_project(app, app.folder)}"}
    return start | {"app": service.app or f"services/frameworks/{service.framework}/app.py"}


def sources_data(source: Run) -> dict[str, str]:
    """The text of start scripts and apps by path, as they were measured; empty for runs that did not save them."""
    saved = as_object(read_bytes(f"{source.path}/{SOURCES}") or b"") or {}
    return {path: text for path, text in saved.items() if isinstance(text, str)}


def _checks(run: str, name: str) -> dict[str, Any] | None:
    """The result of a service's contract checks; None if it was not saved."""
    saved = as_object(read_bytes(f"{run}/raw/services/{name}/verify.json") or b"")
    if saved is None:
        return None
    failed = [
        f"{check.get('route')}: {check.get('check')}: expected {json.dumps(check.get('expected'))},"
        f" got {json.dumps(check.get('got'))}"
        for check in map(mapping, items(saved.get("checks")))
        if check.get("ok") is not True
    ]
    return {"passed": saved.get("passed"), "skipped": saved.get("skipped"), "failed": failed}


def _cells(
    groups: Sequence[tuple[Cell, list[int]]],
    records: Sequence[Record],
    latencies: LatenciesByCell,
    words: dict[str, int],
    figures: Mapping[tuple[LoadKey, str], RankedRow],
    *,
    limits: NoiseLimits,
) -> Columns:
    ceilings = ceilings_of(records, limits)
    rated = any(record.mode == "rate" for record in records)
    rows = []
    for cell, places in groups:
        first = cell.first
        values = [record.goodput for record in cell.counted if record.goodput is not None]
        valid = len(cell.valid) if values else 0
        ceiling = ceilings.of(first)
        # A single round and identical rounds have no interval.
        around = mean_interval(values, CONFIDENCE)
        rows.append(
            {
                **{name: words[str(getattr(first, name) or "")] for name in COORDINATES},
                "rate": first.rate,
                "open": first.connections is None,
                "goodput": cell.goodput,
                "low": around and max(0.0, around.low),
                "high": around and around.high,
                "valid": valid,
                "rounds": len(places),
                "p99_s": _p99(cell, latencies),
                "cpu_s": cell.cpu_per_success_s,
                "memory_bytes": max((r.memory_loaded_bytes for r in cell.valid if r.memory_loaded_bytes), default=None),
                "ceiling": ceiling and ceiling[0],
                "state": words[state_words(cell)] if not valid else None,
                "measurements": places,
                **({"p50_s": _merged(cell, latencies, "p50")} if rated else {}),
                **(_in_turns(cell, figures) if first.mode == "turns" else {}),
            }
        )
    return _columns(rows)


def _in_turns(cell: Cell, figures: Mapping[tuple[LoadKey, str], RankedRow]) -> dict[str, Any]:
    """The figures that a table in turns has for a cell, so that the page shows the same ones everywhere."""
    first = cell.first
    row = figures.get((first.load, first.service))
    if row is None or row.goodput is None:
        return {}
    goodput = row.goodput
    # Rounded once, as printed at the top of the page.
    shown = (("goodput", goodput.mean), ("low", goodput.low), ("high", goodput.high))
    found = {name: float(written(value).replace(",", "")) for name, value in shown}
    return found if row.cpu_us is None else found | {"cpu_s": row.cpu_us.mean / 1e6}


def _p99(cell: Cell, latencies: LatenciesByCell) -> float | None:
    """In seconds: for an open loop, the p99 of the merged rounds.

    A closed-loop tool prints no distribution to merge, and percentiles are never averaged: that of the median round.
    """
    if cell.first.connections is None:
        return _merged(cell, latencies, "p99")
    values = [value for record in cell.counted if (value := record.latency_s["p99"]) is not None]
    return median_low(values) if values else None


def _merged(cell: Cell, latencies: LatenciesByCell, percentile: str) -> float | None:
    """A percentile of the merged rounds of an open loop."""
    merged = merged_of(cell.records, latencies)
    return merged.percentiles_s[percentile] if merged else None


def _measurements(
    groups: Sequence[tuple[Cell, list[int]]],
    records: Sequence[Record],
    windows: Sequence[WindowDetails],
    limits: NoiseLimits,
    words: dict[str, int],
) -> Columns:
    cell_of = {place: number for number, (_, places) in enumerate(groups) for place in places}
    starts = [window.start_ns for window in windows if window.start_ns is not None]
    # If all times are the same, they carry no information.
    first = min(starts) if len(set(starts)) > 1 else None
    rows = [
        {
            "cell": cell_of[place],
            "id": record.id,
            "round": record.round,
            "window": record.window,
            "valid": int(record.valid),
            "goodput": record.goodput,
            "p50_s": record.latency_s["p50"],
            "p99_s": record.latency_s["p99"],
            "cpu_s": record.cpu_per_success_s,
            "memory_bytes": record.memory_loaded_bytes,
            "steal": record.steal_ratio,
            "foreign": record.foreign_ratio,
            "pressure": window.pressure_ratio,
            "noisy": int(bool(noise_of(record, limits))),
            "at_s": None if first is None or window.start_ns is None else (window.start_ns - first) / 1e9,
            "causes": [words[f"{cause.cause}: {short(cause.detail, 300)}"] for cause in record.causes],
        }
        for place, (record, window) in enumerate(zip(records, windows, strict=True))
    ]
    return _columns(rows)


def _curves(groups: Iterable[tuple[Cell, list[int]]], latencies: LatenciesByCell) -> Columns:
    """By cell number: the merged distribution as [share, seconds], if all rounds had the same rate."""
    curves: Columns = {}
    for number, (cell, _) in enumerate(groups):
        if (merged := merged_of(cell.records, latencies)) and merged.curve:
            curves[str(number)] = [[brief(share), brief(s)] for share, s in merged.curve]
    return curves


def _columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    return {name: [brief(row[name]) for row in rows] for name in rows[0]} if rows else {}


def _flame(profile: Profile) -> dict[str, Any]:
    tree = tree_of(profile.stacks)
    return {"service": profile.service, "load": str(profile.table), "cost_us": profile.cost_us, "tree": tree}


def tree_of(stacks: Mapping[Stack, int]) -> dict[str, Any]:
    """Nodes {n: name, v: samples including callees, c: children}; the root has all samples."""
    total = sum(stacks.values())
    paths = [([one.label for one in stack[:DEEPEST]] or [NO_PYTHON], count) for stack, count in stacks.items()]
    return _node("all samples", paths, LEAST_SHARE * total)


def _node(name: str, paths: list[tuple[list[str], int]], least: float) -> dict[str, Any]:
    below: dict[str, list[tuple[list[str], int]]] = {}
    for path, samples in paths:
        if path:
            below.setdefault(path[0], []).append((path[1:], samples))
    wide = {name: those for name, those in below.items() if sum(count for _, count in those) >= least}
    node: dict[str, Any] = {"n": name, "v": sum(count for _, count in paths)}
    if wide:
        node["c"] = [_node(label, wide[label], least) for label in sorted(wide)]
    return node

"""What the verdicts say of each service of a run, for formats with a row for each measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.core.files import as_object, mapping, read_bytes
from bench.records.record import Record
from bench.run.reader import Run
from bench.stats.table_verdicts import TURNED

Key = tuple[str, str, str, str]
"""Scenario, tool, level, service."""


@dataclass(frozen=True, slots=True)
class AgainstBest:
    """The verdict on a service against the best of its table; `smallest_visible` is null if it is called."""

    verdict: str | None = None
    smallest_visible: float | None = None


NONE = AgainstBest()


def key_of(record: Record) -> Key:
    """Where a record's verdict is; only what was measured in turns has one."""
    return record.scenario, record.tool, record.level, record.service


def contrasts_of(source: Run) -> list[Mapping[str, Any]]:
    """The contrasts of verdicts.jsonl; empty if there is none."""
    return [line for line in _lines(source) if line.get("kind") == "contrast"]


def against_best(source: Run) -> dict[Key, AgainstBest]:
    """Of each service that is compared with the best of its table."""
    lines = list(_lines(source))
    best = {_table(line): str(line.get("service")) for line in lines if line.get("rank") == 1}
    found = {}
    for line in lines:
        a, b, verdict = (str(line.get(name)) for name in ("a", "b", "verdict"))
        first = best.get(_table(line))
        if line.get("kind") != "contrast" or first not in (a, b):
            continue
        other, word = (b, verdict) if first == a else (a, TURNED.get(verdict, verdict))
        found[(*_table(line), other)] = AgainstBest(word, line.get("smallest_visible"))
    return found


def _table(line: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(line.get("scenario")), str(line.get("tool")), str(line.get("level"))


def _lines(source: Run) -> Iterator[Mapping[str, Any]]:
    for line in (read_bytes(f"{source.path}/verdicts.jsonl") or b"").splitlines():
        yield mapping(as_object(line))

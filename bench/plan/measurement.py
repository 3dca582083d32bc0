"""One measurement as a line of plan.jsonl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.core.tools import TOOLS

MODES = ("solo", "duet", "null")
"""Alone under load; one side of a pair under load together; the null server, alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One line of plan.jsonl: times in seconds, `rate` in requests/s, None where the level does not ask for it."""

    id: str
    round: int
    position: int
    service: str
    server: str
    framework: str
    python: str
    base: str
    package: str | None
    scenario: str
    tool: str
    level: str
    connections: int | None
    count: int | None
    rate: float | None
    duration_s: float | None
    threads: int
    dir: str
    mode: str = "solo"
    unit: str = ""
    pair: str | None = None
    side: str | None = None
    slot: int | None = None
    window: int | None = None
    database: bool = False
    """Whether an answer needs the database."""
    knee_p99_s: float | None = None

    @property
    def open_loop(self) -> bool:
        """Whether requests are sent at a rate, whatever the answers do."""
        return self.connections is None


def measurement_of(entry: Mapping[str, Any] | None) -> Measurement | str:
    """The typed line, or what is wrong with it."""
    if entry is None:
        return "not a JSON object"
    try:
        planned = Measurement(
            id=_text(entry, "id"),
            round=_count(entry, "round"),
            position=_count(entry, "position"),
            service=_text(entry, "service"),
            server=_text(entry, "server"),
            framework=_text(entry, "framework"),
            python=_text(entry, "python"),
            base=_text(entry, "base"),
            package=None if entry.get("package") is None else _text(entry, "package"),
            scenario=_text(entry, "scenario"),
            tool=_text(entry, "tool"),
            level=_text(entry, "level"),
            connections=None if entry.get("connections") is None else _count(entry, "connections"),
            count=None if entry.get("count") is None else _count(entry, "count"),
            rate=None if entry.get("rate") is None else _number(entry, "rate"),
            duration_s=None if entry.get("duration_s") is None else _number(entry, "duration_s"),
            threads=_count(entry, "threads") if "threads" in entry else 1,
            dir=_text(entry, "dir"),
            mode=_text(entry, "mode") if "mode" in entry else "solo",
            unit=_text(entry, "unit") if "unit" in entry else _text(entry, "id"),
            pair=None if entry.get("pair") is None else _text(entry, "pair"),
            side=None if entry.get("side") is None else _text(entry, "side"),
            slot=None if entry.get("slot") is None else _count(entry, "slot"),
            window=None if entry.get("window") is None else _count(entry, "window"),
            database=entry.get("database") is True,
            knee_p99_s=None if entry.get("knee_p99_s") is None else _number(entry, "knee_p99_s"),
        )
    except ValueError as problem:
        return str(problem)
    if planned.mode not in MODES or (planned.mode == "duet" and (planned.side not in ("a", "b") or not planned.pair)):
        return f"{shortened(planned.mode)} is no way of measuring, or a pair's side is missing"
    if planned.tool not in TOOLS:
        return f"no output of {shortened(planned.tool)} can be read"
    if not _inside(planned.dir) or not _inside(planned.service) or "/" in planned.service:
        return f"{shortened(planned.dir)} is not a folder of this run"
    return planned


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"{key} is not a name")
    return value


def _count(entry: Mapping[str, Any], key: str) -> int:
    value = entry.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{key} is not a positive whole number")
    return value


def _number(entry: Mapping[str, Any], key: str) -> float:
    value = entry.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e9:
        raise ValueError(f"{key} is not a positive number")
    return value


def _inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def shortened(value: Any) -> str:
    """A value in an error message."""
    return repr(value)[:80]

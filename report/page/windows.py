"""What the page shows of a measurement beside its record: when it was, the pressure on the host, its raw output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from report.record import Record
from report.resources import span_s, whole
from report.rundir import as_object, mapping, read_bytes

_STALLED = re.compile(r"^some .*\btotal=(\d{1,18})$", re.M | re.A)
"""Pressure stall information of the CPUs: microseconds in which at least one task waited for one."""


@dataclass(frozen=True, slots=True)
class Window:
    """`start_ns` by the host's clock; `pressure_ratio` the part of the window in which some task waited for a CPU."""

    start_ns: int | None
    pressure_ratio: float | None
    output: bytes | None


def read_window(run: str, record: Record) -> Window:
    """What the measurement's folder tells; None for whatever is not there."""
    folder = f"{run}/{record.raw_file.rpartition('/')[0]}"
    tool = as_object(read_bytes(f"{folder}/tool.json") or b"") or {}
    wall_s = span_s(tool.get("start_ns"), tool.get("end_ns"))
    stalled = [_stalled_us(mapping(tool.get(when)).get("pressure_cpu")) for when in ("before", "after")]
    ratio = None
    if wall_s and stalled[0] is not None and stalled[1] is not None and stalled[1] >= stalled[0]:
        ratio = min(1.0, (stalled[1] - stalled[0]) / 1e6 / wall_s)
    return Window(whole(tool.get("start_ns")), ratio, read_bytes(f"{run}/{record.raw_file}"))


def _stalled_us(pressure: Any) -> int | None:
    found = _STALLED.search(pressure) if isinstance(pressure, str) else None
    return int(found[1]) if found else None

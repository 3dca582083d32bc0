"""What the page shows of a measurement besides its record: start time, CPU pressure on the host, raw output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bench.core.files import mapping
from bench.records.resource_usage import span_s, whole
from bench.render.page.text import left_out
from bench.run.reader import Raw

MOST_KEPT = 65_536
"""Most characters of a raw output that the page keeps; the file has all of it."""
_STALLED = re.compile(r"^some .*\btotal=(\d{1,18})$", re.M | re.A)
"""CPU pressure stall information: microseconds in which at least one task waited for a CPU."""


@dataclass(frozen=True, slots=True)
class Output:
    """The beginning and the end of a raw output; `head` is all of it if it is short."""

    characters: int
    head: str
    tail: str = ""

    def cut(self, most: int) -> str:
        """At most `most` characters; what is left out is counted."""
        if self.characters <= min(most, MOST_KEPT):
            return self.head
        head, tail = most * 2 // 3, most - most * 2 // 3
        if not self.tail:
            return self.head[:head] + left_out(self.characters - most) + self.head[len(self.head) - tail :]
        return self.head[:head] + left_out(self.characters - most) + self.tail[len(self.tail) - tail :]


@dataclass(frozen=True, slots=True)
class WindowDetails:
    """`start_ns` by the host's clock; `pressure_ratio`: share of the window in which some task waited for a CPU."""

    start_ns: int | None
    pressure_ratio: float | None
    output: Output | None


def window_details_of(raw: Raw) -> WindowDetails:
    """Read the measurement's files; None for what is missing."""
    tool = raw.tool or {}
    wall_s = span_s(tool.get("start_ns"), tool.get("end_ns"))
    stalled = [_stalled_us(mapping(tool.get(when)).get("pressure_cpu")) for when in ("before", "after")]
    ratio = None
    if wall_s and stalled[0] is not None and stalled[1] is not None and stalled[1] >= stalled[0]:
        ratio = min(1.0, (stalled[1] - stalled[0]) / 1e6 / wall_s)
    return WindowDetails(whole(tool.get("start_ns")), ratio, None if raw.output is None else output_of(raw.output))


def output_of(data: bytes) -> Output:
    """The output as text; invalid UTF-8 is replaced."""
    text = data.decode("utf-8", "replace")
    if len(text) <= MOST_KEPT:
        return Output(len(text), text)
    head = MOST_KEPT * 2 // 3
    return Output(len(text), text[:head], text[len(text) - (MOST_KEPT - head) :])


def _stalled_us(pressure: Any) -> int | None:
    found = _STALLED.search(pressure) if isinstance(pressure, str) else None
    return int(found[1]) if found else None

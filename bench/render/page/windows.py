"""What the page shows of a measurement beyond its row: start time, CPU pressure on the host, its facts, raw output.

Facts and raw output are deflated in parts, in the order of the records: a part is only inflated when one of its rows is
opened, so that the page loads quickly. Parts are base64 in a data block, since a page opened from disk cannot load a
second file. If the page would be too large, raw output is cut with one limit for all, and what is left out is counted.
The page itself makes invisible characters visible.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.core.files import mapping
from bench.records.counters import span_s, whole
from bench.records.record import Record
from bench.render.text import brief, cut, rounded
from bench.run.reader import Raw

MOST_KEPT = 65_536
"""The most characters of a raw output that the page keeps; the file has all of it."""
IN_A_PART = 100
"""Measurements per part: about 300 kB of JSON, which a browser inflates in a few milliseconds."""
CUTS = (MOST_KEPT, 16_384, 4_096, 1_024, 256, 0)
"""Limits for the characters of a raw output: the first one with which the page fits is used."""
SAMPLE = 10
"""One of this many parts is built to estimate whether a cut is enough."""
MOST_FACTS = 20_000
"""If a measurement's facts have more characters, each text in them is cut."""
KEPT = (
    *("id", "raw_file", "raw_sha256", "outcome", "tool_version", "stdin", "exit_status", "command"),
    *("image_id", "packages_file", "server_limits", "loadgen_limits"),
    *("requests", "attempts", "successes", "errors", "duration_s", "sent_rate", "latency_s"),
    *("server_cpu_s", "loadgen_cpu_s", "database_cpu_s", "process_cpu_s", "throttled_s"),
    *("loadgen_busy_ratio", "loadgen_wait_ratio", "lag_s", "nulls"),
)
"""Fields of the record shown unchanged; the others are in the page's own columns."""
_STALLED = re.compile(r"^some .*\btotal=(\d{1,18})$", re.M | re.A)
"""CPU pressure stall information: microseconds in which at least one task waited for a CPU."""


@dataclass(frozen=True, slots=True)
class Output:
    """A raw output of so many characters; of a long one, `text` has only the beginning and the end."""

    characters: int
    text: str

    def cut(self, most: int) -> str:
        """At most `most` characters; what is left out is counted."""
        return cut(self.text, most, self.characters)


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
    return Output(len(text), text[:head] + text[len(text) - (MOST_KEPT - head) :])


def _stalled_us(pressure: Any) -> int | None:
    found = _STALLED.search(pressure) if isinstance(pressure, str) else None
    return int(found[1]) if found else None


def parts(records: Sequence[Record], windows: Sequence[WindowDetails], most_bytes: int) -> list[str]:
    """The parts in the order of the records, as base64; at most `most_bytes` if cutting raw output is enough."""
    longest = max((window.output.characters for window in windows if window.output), default=0)
    facts = [*map(_facts, records)]
    made: list[str] = []
    for number, most in enumerate(CUTS):
        following = CUTS[number + 1] if number + 1 < len(CUTS) else -1
        if longest <= following:
            continue
        some = sum(map(len, _parts(facts, windows, most, SAMPLE)))
        if following >= 0 and some * SAMPLE > 1.2 * most_bytes:
            continue
        made = [*_parts(facts, windows, most)]
        if sum(map(len, made)) <= most_bytes:
            break
    return made


def _parts(facts: Sequence[str], windows: Sequence[WindowDetails], most: int, step: int = 1) -> Iterator[str]:
    for first in range(0, len(facts), IN_A_PART * step):
        group = slice(first, first + IN_A_PART)
        entries = (
            f'{{"raw":{_dumps(window.output and window.output.cut(most))},{entry[1:]}'
            for entry, window in zip(facts[group], windows[group], strict=True)
        )
        yield compressed(f"[{','.join(entries)}]")


def compressed(text: str) -> str:
    """Base64 that the page's scripts inflate; lone surrogates cannot be encoded."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 6)).decode()


def _facts(record: Record) -> str:
    """A JSON object; numbers have a few more digits than the page shows."""
    facts = {name: brief(getattr(record, name)) for name in KEPT}
    facts["latency_s"] = {name: brief(value) for name, value in record.latency_s.items()}
    facts["errors"] = {kind: count for kind, count in record.errors.items() if count}
    text = _dumps(facts)
    return text if len(text) <= MOST_FACTS else _dumps(rounded(facts))


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

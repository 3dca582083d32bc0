"""The details of each row of the page: a measurement's facts and raw output, deflated in parts.

A part is only inflated when one of its rows is opened, so that the page loads quickly. Parts are base64 in a data
block, since a page opened from disk cannot load a second file. If the page would be too large, raw output is cut with
one limit for all, and what is left out is counted. The page itself makes invisible characters visible.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from bench.records.record import Record
from bench.render.page.text import brief, rounded
from bench.render.page.windows import MOST_KEPT, WindowDetails

IN_A_PART = 100
"""Measurements per part: about 300 kB of JSON, which a browser inflates in a few milliseconds."""
CUTS = (MOST_KEPT, 16_384, 4_096, 1_024, 256, 0)
"""Most characters of one raw output: the first value for which the page fits."""
SAMPLE = 10
"""One of this many parts is built to estimate whether a cut is enough."""
MOST_FACTS = 20_000
"""If a measurement's facts have more characters, each text in them is cut."""
KEPT = (
    "id",
    "raw_file",
    "raw_sha256",
    "outcome",
    "tool_version",
    "stdin",
    "exit_status",
    "command",
    "image_id",
    "packages_file",
    "server_limits",
    "loadgen_limits",
    "requests",
    "attempts",
    "successes",
    "errors",
    "duration_s",
    "sent_rate",
    "latency_s",
    "server_cpu_s",
    "loadgen_cpu_s",
    "database_cpu_s",
    "process_cpu_s",
    "throttled_s",
    "loadgen_busy_ratio",
    "loadgen_wait_ratio",
    "lag_s",
    "nulls",
)
"""Fields of the record shown unchanged; the others are in the page's own columns."""


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
        # Lone surrogates cannot be encoded.
        data = f"[{','.join(entries)}]".encode("utf-8", "replace")
        yield base64.b64encode(zlib.compress(data, 6)).decode()


def _facts(record: Record) -> str:
    """A JSON object; numbers have a few more digits than the page shows."""
    facts = {name: brief(getattr(record, name)) for name in KEPT}
    facts["latency_s"] = {name: brief(value) for name, value in record.latency_s.items()}
    facts["errors"] = {kind: count for kind, count in record.errors.items() if count}
    text = _dumps(facts)
    return text if len(text) <= MOST_FACTS else _dumps(rounded(facts))


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

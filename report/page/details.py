"""What a row of the page opens to: each measurement's facts and raw output, deflated in parts.

A part is opened only when one of its rows is, so that the page stays quick to read; base64 in a data block, since a
page that is opened from a disk can ask for no second file. Raw output is cut where the page would grow too large, the
same limit for all, and what was cut is counted.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from report.page.text import rounded, short
from report.page.windows import Window
from report.record import Record

IN_A_PART = 100
"""Measurements: a part is then some 300 kB of JSON, which a browser opens in a few milliseconds."""
CUTS = (262_144, 65_536, 16_384, 4_096, 1_024, 256, 0)
"""Most characters of one raw output, the first that fits."""
KEPT = (
    "id",
    "raw_file",
    "raw_sha256",
    "outcome",
    "tool_version",
    "stdin",
    "exit_status",
    "image_id",
    "base_label",
    "python_build",
    "packages_file",
    "server_limits",
    "loadgen_limits",
    "requests",
    "attempts",
    "successes",
    "duration_s",
    "sent_rate",
    "latency_s",
    "server_cpu_s",
    "loadgen_cpu_s",
    "database_cpu_s",
    "throttled_s",
    "loadgen_busy_ratio",
    "loadgen_wait_ratio",
    "lag_s",
    "nulls",
)
"""Fields of the record that are shown as they are; the others are in the page's own columns."""


def parts(records: Sequence[Record], windows: Sequence[Window], most_bytes: int) -> list[str]:
    """The parts in the order of the records, as base64; within `most_bytes` where raw output alone is too much."""
    longest = max((len(window.output or b"") for window in windows), default=0)
    facts = [_facts(record) for record in records]
    made: list[str] = []
    for number, cut in enumerate(CUTS):
        following = CUTS[number + 1] if number + 1 < len(CUTS) else -1
        if longest <= following:
            continue
        made = [*_parts(facts, windows, cut)]
        if sum(map(len, made)) <= most_bytes:
            break
    return made


def _parts(facts: Sequence[dict[str, Any]], windows: Sequence[Window], cut: int) -> Iterator[str]:
    for first in range(0, len(facts), IN_A_PART):
        group = slice(first, first + IN_A_PART)
        entries = [
            entry | {"raw": _raw(window, cut)} for entry, window in zip(facts[group], windows[group], strict=True)
        ]
        data = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
        yield base64.b64encode(zlib.compress(data, 6)).decode()


def _facts(record: Record) -> dict[str, Any]:
    told = {name: rounded(getattr(record, name)) for name in KEPT}
    errors = {kind: count for kind, count in record.errors.items() if count}
    return told | {"command": list(map(short, record.command or ())), "errors": rounded(errors)}


def _raw(window: Window, cut: int) -> str | None:
    if window.output is None:
        return None
    return short(window.output.decode("utf-8", "replace"), cut)

"""What a row of the page opens to: each measurement's facts and raw output, deflated in parts.

A part is opened only when one of its rows is, so that the page stays quick to read; base64 in a data block, since a
page that is opened from a disk can ask for no second file. Raw output is cut where the page would grow too large, the
same limit for all, and what was cut is counted. Unseen characters are named by the page itself, when it shows them.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from bench.records.record import Record
from bench.render.page.text import rounded
from bench.render.page.windows import MOST_KEPT, WindowDetails

IN_A_PART = 100
"""Measurements: a part is then some 300 kB of JSON, which a browser opens in a few milliseconds."""
CUTS = (MOST_KEPT, 16_384, 4_096, 1_024, 256, 0)
"""Most characters of one raw output, the first that fits."""
SAMPLE = 10
"""Of so many parts one is made to see whether a cut can be enough."""
MOST_FACTS = 20_000
"""Characters of a measurement's facts above which each of its words is cut."""
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
    "throttled_s",
    "loadgen_busy_ratio",
    "loadgen_wait_ratio",
    "lag_s",
    "nulls",
)
"""Fields of the record that are shown as they are; the others are in the page's own columns."""


def parts(records: Sequence[Record], windows: Sequence[WindowDetails], most_bytes: int) -> list[str]:
    """The parts in the order of the records, as base64; within `most_bytes` where raw output alone is too much."""
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
        # Half of a character is none that could be written.
        data = f"[{','.join(entries)}]".encode("utf-8", "replace")
        yield base64.b64encode(zlib.compress(data, 6)).decode()


def _facts(record: Record) -> str:
    """A JSON object; its numbers have the digits that the page shows, and some more."""
    told = {name: _brief(getattr(record, name)) for name in KEPT}
    told["latency_s"] = {name: _brief(value) for name, value in record.latency_s.items()}
    told["errors"] = {kind: count for kind, count in record.errors.items() if count}
    text = _dumps(told)
    return text if len(text) <= MOST_FACTS else _dumps(rounded(told))


def _brief(value: Any) -> Any:
    return float(f"{value:.6g}") if type(value) is float else value


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

"""A benchmark table of somebody else, held against what cannot be, and against what one run cannot show. Pure.

The rules need no knowledge of the servers: Little's law of a closed loop, the wait of each response, the order of
percentiles, a load generator that limits the first rows, and differences that are smaller than runs vary.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.core.errors import UserError
from bench.core.formats import listed, number, size

NAMES: Mapping[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "max")
SECONDS: Mapping[str, float] = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
MORE: Mapping[str, float] = {"": 1.0, "k": 1e3, "m": 1e6}
FIGURE = re.compile(r"~?([\d,]*\.?\d+)\s*(us|µs|ms|s|k|m)?(?:\s*/\s*s)?\Z", re.IGNORECASE)
LITTLE = 0.1
"""Tools and rounding may move a mean by this share of what Little's law says."""
VARIES = 0.03
"""Two runs of the same server differ by this much even on a quiet machine (docs/measuring.md)."""
SATURATED = 3
"""From this many first rows within VARIES on, the load generator is probably their limit."""
MOST_ERRORS = 0.001


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: latencies in seconds, by NAMES; what it does not say is missing."""

    name: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Remark:
    """What is wrong with a table; `impossible`: no measurement can have given it."""

    impossible: bool
    words: str


def read_table(text: str, unit: str = "ms") -> list[Row]:
    """The rows of CSV, tab-separated text or a Markdown table; `unit`: that of latencies without one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    markdown = [line.strip("|") for line in lines if line.startswith("|") and not re.fullmatch(r"[|:\-\s]+", line)]
    if markdown:
        cells = [[cell.strip(" `*") for cell in line.split("|")] for line in markdown]
    else:
        separator = "\t" if lines and "\t" in lines[0] else ","
        try:
            cells = [*csv.reader(lines, delimiter=separator, skipinitialspace=True)]
        except csv.Error as error:
            raise UserError(f"no table of text: {error}") from error
    if len(cells) < 2:
        raise UserError("no table with a head and rows: give CSV, tab-separated text or Markdown")
    columns = [_column(head, unit) for head in cells[0]]
    known = [key for key, _ in columns if key]
    if "rate" not in known and "mean" not in known:
        raise UserError(f"no column of requests/s or latency among: {', '.join(cells[0])}")
    return [_row(columns, row) for row in cells[1:] if any(row)]


def _column(head: str, unit: str) -> tuple[str, str]:
    """(what a column holds, the unit of its latencies); empty if it is not known."""
    given = re.search(r"[(\[]\s*(us|µs|ms|s)\s*[)\]]|,\s*(us|µs|ms|s)\Z", head, re.IGNORECASE)
    bare = re.sub(r"[(\[].*?[)\]]|,\s*\w+\Z", "", head).strip().lower().replace("_", " ")
    key = next((key for key, pattern in NAMES.items() if re.fullmatch(pattern, bare)), "")
    return key, next(filter(None, given.groups()), unit).lower() if given else unit


def _row(columns: Sequence[tuple[str, str]], cells: Sequence[str]) -> Row:
    name, figures = cells[0], dict[str, float]()
    for (key, unit), cell in zip(columns, cells, strict=False):
        if key == "name":
            name = cell
        elif key and (match := FIGURE.match(cell.strip())):
            value, suffix = float(match[1].replace(",", "")), (match[2] or "").lower()
            if key in ("rate", "connections", "errors"):
                figures[key] = value * MORE.get(suffix, 1.0)
            elif (suffix or unit) in SECONDS:
                figures[key] = value * SECONDS[suffix or unit]
    return Row(name, figures)


def remarks(rows: Sequence[Row], connections: float | None = None, wait_s: float = 0.0) -> Iterator[Remark]:
    """What cannot be, then what the table cannot show.

    `connections`: of its closed loop, where no column has them; `wait_s`: what every response waits for.
    """
    for row in rows:
        found = _impossible(row.figures, row.figures.get("connections", connections), wait_s)
        yield from (Remark(impossible, f"{row.name}: {words}") for impossible, words in found)
    for row in rows:
        errors, rate = row.figures.get("errors"), row.figures.get("rate")
        if errors and rate and errors > MOST_ERRORS * rate:
            words = f"{number(errors)} errors are given: were they counted among its {number(rate)} requests/s?"
            yield Remark(False, f"{row.name}: {words}")
    yield from _of_the_order(rows)


def _impossible(figures: Mapping[str, float], at_once: float | None, wait_s: float) -> Iterator[tuple[bool, str]]:
    rate, mean = figures.get("rate"), figures.get("mean")
    if rate and at_once and mean is not None:
        by_little = at_once / rate
        law = f"{at_once:,.0f} connections at {number(rate)} requests/s take {number(1000 * by_little)} ms each"
        if mean > by_little * (1 + LITTLE):
            yield True, f"{law} (Little's law), but its mean latency is {number(1000 * mean)} ms"
        elif mean < by_little * (1 - LITTLE):
            only = f"its mean latency is only {number(1000 * mean)} ms: the client was the limit"
            yield False, f"{law} (Little's law), {only}"
    if rate and at_once and wait_s and rate > at_once / wait_s * (1 + VARIES):
        most = number(at_once / wait_s)
        allowed = f"{at_once:,.0f} connections allow {most} with a wait of {wait_s * 1000:g} ms"
        yield True, f"{number(rate)} requests/s, but {allowed}"
    shortest = min((figures[key] for key in ("mean", "p50") if key in figures), default=None)
    if wait_s and shortest is not None and shortest < wait_s * (1 - VARIES):
        yield True, f"a latency of {number(1000 * shortest)} ms is shorter than the wait of {wait_s * 1000:g} ms"
    known = [(key, figures[key]) for key in PERCENTILES if key in figures]
    for (low, below), (high, above) in pairwise(known):
        if below > above:
            yield True, f"{low} ({number(1000 * below)} ms) is above {high} ({number(1000 * above)} ms)"
    if mean is not None and mean > figures.get("max", mean):
        yield True, f"its mean latency ({number(1000 * mean)} ms) is above its maximum"


def _of_the_order(rows: Sequence[Row]) -> Iterator[Remark]:
    rated = sorted(((row.figures["rate"], row.name) for row in rows if row.figures.get("rate")), reverse=True)
    if len(rated) < 2:
        return
    best = rated[0][0]
    first = [name for rate, name in rated if rate >= best * (1 - VARIES)]
    if len(first) >= SATURATED:
        limit = "their limit is probably the load generator, so they are at least this fast and have no order"
        yield Remark(False, f"{listed(first)} are within {size(VARIES)} of each other: {limit}")
    if close := [(one, other) for (more, one), (less, other) in pairwise(rated) if less >= more * (1 - VARIES)]:
        pairs = listed([f"{one} and {other}" for one, other in close])
        by = f"less than {size(VARIES)}, by which two runs of one server differ"
        words = f"{by}: {pairs} have no order in a table without intervals"
        yield Remark(False, f"{len(close)} of {len(rated) - 1} neighbours differ by {words}")

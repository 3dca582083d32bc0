"""Printed means against the records of all windows of all rounds."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean, stdev

from bench.analysis.cells.cell import cells_of
from bench.analysis.cells.compared import is_knee
from bench.analysis.tables.observations import CONFIDENCE
from bench.plan.measurement import IN_BLOCKS
from bench.records.file import read_records
from bench.records.outcome import NOT_RUN
from bench.records.record import Record
from bench.stats.estimates import t_quantile
from bench.words.cells import rate_words

FIELDS = {"goodput": ("goodput", 1.0), "cpu_us": ("cpu_per_success_s", 1e6)}
"""The field of a record behind a figure of verdicts.jsonl, and its scale."""
MEAN = re.compile(r"([\d,.]+)(?! to |[\d,.])")
"""The mean in the words on a rate; a range is none."""


def means_of_a_part(folder: Path) -> Iterator[str]:
    """The means of a judged run, of tables in turns and of services alone, that are not over all windows."""
    records = [one for one in read_records(folder) if one.outcome != NOT_RUN]
    own: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for one in records:
        if one.mode in IN_BLOCKS:
            own[(*map(str, one.load), one.service)].append(one)
    for line in map(json.loads, (folder / "verdicts.jsonl").read_text().splitlines()):
        for name, (field, scale) in FIELDS.items() if line["kind"] == "service" else ():
            place = tuple(line[key] for key in ("scenario", "tool", "level", "service"))
            shown, rounds = line[name], [scale * value for value in _rounds(own[place], field)]
            mean = fmean(rounds) if rounds else None
            if shown and mean and len(rounds) > 1 and any(one.steady_goodput for one in own[place]):
                # Freed from the bias of turns, mean and interval have the same factor, which only a fit of all knows.
                reach = t_quantile(CONFIDENCE, len(rounds) - 1) * stdev(rounds) / math.sqrt(len(rounds))
                mean *= shown["high"] / (mean + reach)
            if shown and not _is(shown["mean"], mean, 1e-9):
                yield f"{' '.join(place)}: {name}"
    for cell in cells_of(one for one in records if one.mode == "solo"):
        printed = MEAN.match(rate_words(cell))
        # As printed: with three digits or more.
        alone = float(printed[1].replace(",", "")) if printed and not is_knee(cell.first) else None
        rounds = _rounds(cell.records, "goodput")
        if alone is not None and not _is(alone, fmean(rounds) if rounds else None, 0.006):
            yield f"{cell.first.scenario} {cell.first.tool} {cell.first.level} {cell.service}: alone"


def _rounds(records: Iterable[Record], field: str) -> list[float]:
    """The mean of each round; none if a window has no such figure."""
    rounds: dict[int, list[float]] = defaultdict(list)
    for one in records:
        if (value := getattr(one, field)) is None:
            return []
        rounds[one.round].append(value)
    return [*map(fmean, rounds.values())]


def _is(mean: float, every: float | None, by: float) -> bool:
    return every is not None and abs(mean / every - 1) <= by

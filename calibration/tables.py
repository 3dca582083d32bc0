"""A table in turns with known differences: identical services, and injected slowdowns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from bench.analysis.runs.compatibility import read_compared
from bench.analysis.tables.judge import judge_tables
from bench.core.errors import UserError
from bench.core.formats import markdown_table
from bench.core.groups import grouped
from bench.export.columns import contrasts_of
from bench.stats.table_verdicts import EQUAL, FASTER, SLOWER
from calibration.report import false_words, spans, verdict

REQUEST_US = 400
"""Approximate CPU time of a request; injecting 20 and 40 us makes it 5 and 10 % slower."""
FOUND = 0.9
"""The share of differences that must be detected."""
LEAST_PERCENT = 5
"""The smallest difference that must be detected."""
WITHIN_S = (90, 180, 240)
"""Wall times of a table's rounds, in seconds, by which detected differences are counted."""


@dataclass(frozen=True, slots=True)
class Known:
    """One contrast of a table: `slower_us` is how much longer B's requests take; the rest is from verdicts.jsonl."""

    table: str
    slower_us: int
    verdict: str
    difference: float

    @property
    def percent(self) -> int:
        """The true difference in percent of a request."""
        return round(100 * abs(self.slower_us) / REQUEST_US)

    @property
    def called(self) -> bool:
        """Whether the difference was detected, with the right sign."""
        return self.verdict == (SLOWER if self.slower_us > 0 else FASTER)

    @property
    def wrong(self) -> bool:
        """Whether the verdict is false: the wrong sign, a difference between equals, or none despite one of 5 %."""
        if self.slower_us == 0:
            return self.verdict in (FASTER, SLOWER)
        denied = self.verdict == EQUAL and self.percent >= LEAST_PERCENT
        return denied or self.verdict == (FASTER if self.slower_us > 0 else SLOWER)


def known_contrasts(folder: str) -> list[Known]:
    """The contrasts of a run's tables; UserError if there are none."""
    contrasts = [
        Known(f"{folder} {one['scenario']}", _slower_us(one["a"], one["b"]), one["verdict"], one["difference"])
        for one in contrasts_of(folder)
    ]
    if not contrasts:
        raise UserError(f"{folder} has no table in turns: it is not a run of this self-test")
    return contrasts


def _slower_us(a: str, b: str) -> int:
    """How much longer the requests of the second service take."""
    first, second = (re.search(r"-slower-(\d+)us", name) for name in (a, b))
    return (int(second[1]) if second else 0) - (int(first[1]) if first else 0)


def tables(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds): how many differences of each size were detected, and tables with a false verdict."""
    contrasts = [one for folder in folders for one in known_contrasts(folder)]
    early = Counter(one for folder in folders for one in called_within(folder))
    heads = ("true difference", "contrasts", *(f"called in {limit} s" for limit in WITHIN_S), "called")
    heads += ("equal", "false", "mean estimate", "")
    rows: list[list[str]] = []
    holds = True
    for percent, group in sorted(grouped(contrasts, lambda one: one.percent).items()):
        called = sum(one.called for one in group)
        promised, wrong = percent >= LEAST_PERCENT, sum(one.wrong for one in group)
        enough = not promised or (called >= FOUND * len(group) and not wrong)
        # One table has too few equal services for a share of 5 %, but chance hardly ever calls most of them.
        holds &= enough and wrong <= len(group) / 3
        words = [f"{percent} %", str(len(group))]
        words += [str(early[percent, limit]) if percent else "" for limit in WITHIN_S]
        words += [str(called) if percent else "", str(sum(one.verdict == EQUAL for one in group))]
        # How much more time the slower one takes.
        ratios = [1 / (1 + one.difference) if one.slower_us >= 0 else 1 + one.difference for one in group]
        words += [str(wrong), f"{100 * (fmean(ratios) - 1):+.1f} %"]
        rows.append([*words, verdict(enough) if promised else ""])
    names = {one.table for one in contrasts}
    share, few = false_words(len({one.table for one in contrasts if one.wrong}), len(names), "tables")
    lines = [markdown_table(heads, rows, range(len(heads) - 1)), "", f"{share}."]
    lines += [f"{Path(folder).name}: {wall_s(folder):.0f} s of wall time in turns, all rounds." for folder in folders]
    return "\n".join(lines), holds and few


def called_within(folder: str) -> Iterator[tuple[int, int]]:
    """(true difference in percent, limit) of each contrast that was detected within each limit of WITHIN_S.

    Judges the table again from the rounds that ended by then; empty without raw files.
    """
    if not (ends := _round_ends_s(folder)):
        return
    facts = read_compared(folder)
    for limit in WITHIN_S:
        kept = {number for number, end in ends.items() if end <= limit}
        for table in judge_tables(facts.run, [record for record in facts.records if record.round in kept]):
            for one in table.contrasts:
                known = Known(folder, _slower_us(one.a, one.b), one.verdict, one.difference)
                if known.slower_us and known.called:
                    yield known.percent, limit


def wall_s(folder: str) -> float:
    """From the start of the first block to the end of the last one, in seconds; 0 without raw files."""
    return max(_round_ends_s(folder).values(), default=0.0)


def _round_ends_s(folder: str) -> dict[int, float]:
    """When the last block of each round ended, in seconds after the first block began."""
    windows = list(spans(folder, "raw/r*/b*/**/meta.json", "begin_ns", "end_ns"))
    ends: dict[int, int] = {}
    for path, _, end in windows:
        number = int(path.relative_to(folder).parts[1].removeprefix("r"))
        ends[number] = max(end, ends.get(number, end))
    first = min((begin for _, begin, _ in windows), default=0)
    return {number: (end - first) / 1e9 for number, end in ends.items()}

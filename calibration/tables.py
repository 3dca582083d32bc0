"""A table in turns whose true differences are known: services that are the same, and injected slowdowns."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.analysis.runs.compatibility import read_facts
from bench.analysis.tables.judge import judge_tables
from bench.core.errors import UserError
from bench.stats.table_verdicts import FASTER, NO_DIFFERENCE, SLOWER

REQUEST_US = 400
"""Approximate CPU time of a request; 20 and 40 us are injected: 5 and 10 %."""
FOUND = 0.9
"""The share of differences that must be called."""
LEAST_PERCENT = 5
"""The smallest difference that must be called."""
WRONG = 0.05
"""The largest share of tables with a false word."""
WITHIN_S = (90, 180, 240)
"""Wall times of a table's rounds, in seconds, after which it is counted what was called by then."""


@dataclass(frozen=True, slots=True)
class Known:
    """One contrast of a table: `slower_us` is by how much B's requests take longer, all else is from verdicts.jsonl."""

    table: str
    slower_us: int
    verdict: str
    difference: float

    @property
    def percent(self) -> int:
        """The size of the true difference, in percent of a request."""
        return round(100 * abs(self.slower_us) / REQUEST_US)

    @property
    def called(self) -> bool:
        """Whether the right one is called faster."""
        return self.verdict == (SLOWER if self.slower_us > 0 else FASTER)

    @property
    def wrong(self) -> bool:
        """Whether the verdict is false: the wrong sign, a difference of equals, or none where there is one of 5 %."""
        if self.slower_us == 0:
            return self.verdict in (FASTER, SLOWER)
        denied = self.verdict == NO_DIFFERENCE and self.percent >= LEAST_PERCENT
        return denied or self.verdict == (FASTER if self.slower_us > 0 else SLOWER)


def known_contrasts(folder: str) -> list[Known]:
    """The contrasts of a run's tables; UserError where there are none."""
    path = Path(folder, "verdicts.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    found = [
        Known(f"{folder} {line['scenario']}", _injected_us(line["b"]) - _injected_us(line["a"]), *_result(line))
        for line in lines
        if line.get("kind") == "contrast"
    ]
    if not found:
        raise UserError(f"{folder} has no table in turns: it is not a run of this self-test")
    return found


def _injected_us(service: str) -> int:
    found = re.search(r"-slower-(\d+)us", service)
    return int(found[1]) if found else 0


def _result(line: dict[str, Any]) -> tuple[str, float]:
    return line["verdict"], line["difference"]


def tables(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds): how many differences of each size were called, and in how many tables a word is false.

    A few tables do not determine a share of 5 %, so that promise is missed only if the exact (Clopper-Pearson) interval
    lies above it.
    """
    from scipy.stats import binomtest

    found = [one for folder in folders for one in known_contrasts(folder)]
    early = Counter(one for folder in folders for one in called_within(folder))
    heads = ("true difference", "contrasts", *(f"called in {limit} s" for limit in WITHIN_S), "called")
    heads += ("no difference shown", "false", "mean estimate", "")
    rows = [f"| {' | '.join(heads)} |", "| ---: " * (len(heads) - 1) + "| --- |"]
    holds = True
    for percent, group in _by_size(found):
        called = sum(one.called for one in group)
        promised = percent >= LEAST_PERCENT
        enough = not promised or called >= FOUND * len(group)
        holds &= enough
        words = [
            f"{percent} %",
            str(len(group)),
            *(str(early[percent, limit]) if percent else "" for limit in WITHIN_S),
        ]
        words += [str(called) if percent else "", _count(group, NO_DIFFERENCE)]
        words += [str(sum(one.wrong for one in group)), f"{100 * _size(group):+.1f} %"]
        words += [("holds" if enough else "MISSED") if promised else ""]
        rows.append(f"| {' | '.join(words)} |")
    names = {one.table for one in found}
    wrong = {one.table for one in found if one.wrong}
    interval = binomtest(len(wrong), len(names)).proportion_ci(0.95, "exact")
    share = f"{len(wrong)} of {len(names)} tables have a false word"
    rows += ["", f"{share} (95 % interval {interval.low:.1%} to {interval.high:.1%}; allowed {WRONG:.0%})."]
    rows += [f"{Path(folder).name}: {wall_s(folder):.0f} s of wall time in turns, all rounds." for folder in folders]
    return "\n".join(rows), holds and bool(interval.low <= WRONG)


def _by_size(found: Iterable[Known]) -> list[tuple[int, list[Known]]]:
    groups: dict[int, list[Known]] = defaultdict(list)
    for one in found:
        groups[one.percent].append(one)
    return sorted(groups.items())


def _count(group: Iterable[Known], word: str) -> str:
    return str(sum(one.verdict == word for one in group))


def _size(group: Iterable[Known]) -> float:
    """How much more the slower one takes, by the mean of the estimates."""
    ratios = [1 / (1 + one.difference) if one.slower_us >= 0 else 1 + one.difference for one in group]
    return fmean(ratios) - 1


def called_within(folder: str) -> Iterator[tuple[int, int]]:
    """(true difference in percent, limit) of each contrast that was called at a look within each of WITHIN_S seconds.

    Judged again, by the last look at which the rounds had taken no longer; nothing without raw files.
    """
    ends = _round_ends_s(folder)
    if not ends:
        return
    facts = read_facts(folder)
    for limit in WITHIN_S:
        kept = {number for number, end in ends.items() if end <= limit}
        for table in judge_tables(facts.run, [record for record in facts.records if record.round in kept]):
            for one in table.contrasts:
                slower_us = _injected_us(one.b) - _injected_us(one.a)
                known = Known(folder, slower_us, one.verdict, one.difference)
                if slower_us and known.called:
                    yield known.percent, limit


def wall_s(folder: str) -> float:
    """From the start of the first block to the end of the last one, in seconds; 0 where the raw files are not there."""
    return max(_round_ends_s(folder).values(), default=0.0)


def _round_ends_s(folder: str) -> dict[int, float]:
    """When the last block of each round ended, in seconds after the first block began."""
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for path in Path(folder).glob("raw/*/blocks/*/*/*/*/*/meta.json"):
        meta = json.loads(path.read_bytes())
        if meta.get("begin_ns") and meta.get("end_ns"):
            number = int(path.relative_to(folder).parts[1].removeprefix("r"))
            spans[number].append((meta["begin_ns"], meta["end_ns"]))
    begin = min((begun for group in spans.values() for begun, _ in group), default=0)
    return {number: (max(ended for _, ended in group) - begin) / 1e9 for number, group in spans.items()}

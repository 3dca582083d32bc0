"""Compare runs, each with the first: which are compatible, what changed, and the trends of five runs or more.

The command line writes the result to results/comparisons/NAME/: comparison.md, comparison.jsonl
(`bench.analysis.runs.differences.CellDifference`) and history.jsonl (`bench.analysis.runs.trends.Trend`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.runs.compatibility import Compatibility, RunFacts, compatibility_of, read_facts
from bench.analysis.runs.differences import CellDifference, Drift, Samples, drifts_of, run_differences, samples_of
from bench.analysis.runs.trends import Trend, trends_of
from bench.analysis.tables.latency import read_at_common_rates
from bench.core.errors import UserError
from bench.records.record import MEASURED


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run compared with the first: their compatibility, the rows of both, and the changes of the null server."""

    name: str
    verdict: Compatibility
    rows: tuple[CellDifference, ...] = ()
    drifts: tuple[Drift, ...] = ()


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A comparison of runs: the name of the first, the others in order, and the trends if there are enough runs."""

    first: str
    others: tuple[ComparedRun, ...]
    trends: tuple[Trend, ...] = ()

    @property
    def compared(self) -> tuple[ComparedRun, ...]:
        """The runs that are compatible with the first."""
        return tuple(other for other in self.others if other.verdict.comparable)

    @property
    def title(self) -> str:
        """A name for the folder: other characters than letters, digits, dots and hyphens are replaced."""
        names = [re.sub(r"[^A-Za-z0-9.-]", "_", name)[-60:] for name in (self.first, self.others[-1].name)]
        more = f".{len(self.others) + 1}-runs" if len(self.others) > 1 else ""
        return f"{names[0]}..{names[1]}{more}".lstrip(".")


def compare_runs(folders: Sequence[Path]) -> RunComparison:
    """Read and compare the runs, one at a time; UserError if one is given twice."""
    places = Counter(folder.resolve() for folder in folders)
    twice = [folder for folder in folders if places[folder.resolve()] > 1]
    if twice:
        raise UserError(f"{twice[0].name} is given twice: give different runs")
    names = _names(folders)
    first, samples = _read(folders[0], names[0])
    seen = {_measurements(first): names[0]}
    others, alike = [], [samples]
    for folder, name in zip(folders[1:], names[1:], strict=True):
        facts, its = _read(folder, name)
        same = seen.setdefault(_measurements(facts), name)
        if same != name and _measurements(facts):
            raise UserError(f"{name} has the same measurements as {same}: give different runs")
        verdict = compatibility_of(first, facts)
        rows = run_differences(samples, its, verdict.cause)
        others.append(ComparedRun(name, verdict, tuple(rows), tuple(drifts_of(samples, its))))
        if verdict.comparable:
            alike.append(its)
    return RunComparison(names[0], tuple(others), tuple(trends_of(alike)))


def _names(folders: Sequence[Path]) -> list[str]:
    """The folders' names, or their whole paths if two have the same name."""
    count = Counter(folder.name for folder in folders)
    return [folder.name if count[folder.name] == 1 else str(folder) for folder in folders]


def _read(folder: Path, name: str) -> tuple[RunFacts, Samples]:
    """A run's facts and samples."""
    facts = read_facts(str(folder))
    loaded = read_at_common_rates(str(folder), facts.run, facts.records).distributions
    return facts, samples_of(name, list(facts.services), facts.records, loaded)


def _measurements(facts: RunFacts) -> frozenset[tuple[str, str | None]]:
    """What identifies the raw output of a run."""
    return frozenset((record.id, record.raw_sha256) for record in facts.records if record.outcome == MEASURED)

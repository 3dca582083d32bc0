"""Several runs: `compare A B [C...]`. Which of them may be compared, what changed, and their history.

Every other run is held against the first. What it makes stands in results/comparisons/NAME/ too: comparison.md,
comparison.jsonl (`bench.compare.Comparison`), and of five runs or more history.jsonl (`bench.history.History`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.cli import RESULTS, find_run
from bench.comparable import Facts, Verdict, compare, read_facts
from bench.compare import Comparison, Drift, compare_runs, drifts_of, lines
from bench.duets import judge_pairs, pairs_of
from bench.errors import UserError
from bench.files import write_file
from bench.history import History, histories_of
from bench.record import MEASURED
from bench.samples import Samples, samples_of

FOLDER = "comparisons"


@dataclass(frozen=True, slots=True)
class Other:
    """A run beside the first: whether they may be compared, the rows of both, and what their controls leave.

    `drifts` are the null server's, `deltas` by figure the least difference that the A/A pairs of both runs leave.
    """

    name: str
    verdict: Verdict
    rows: tuple[Comparison, ...] = ()
    drifts: tuple[Drift, ...] = ()
    deltas: Mapping[str, float] = field(default_factory=dict)

    @property
    def cause(self) -> str:
        """The names of what forbids to compare them."""
        return ", ".join(dict.fromkeys(found.name for found in self.verdict.differences if found.forbids))


@dataclass(frozen=True, slots=True)
class Several:
    """What is known of several runs: the first one's name, the others in their order, histories where they are many."""

    first: str
    others: tuple[Other, ...]
    histories: tuple[History, ...] = ()

    @property
    def compared(self) -> tuple[Other, ...]:
        """The runs that may be compared with the first."""
        return tuple(other for other in self.others if other.verdict.comparable)

    @property
    def title(self) -> str:
        """A name for files: what is no letter, digit, dot or hyphen in the runs' names is replaced."""
        names = [re.sub(r"[^A-Za-z0-9.-]", "_", name)[-60:] for name in (self.first, self.others[-1].name)]
        more = f".{len(self.others) + 1}-runs" if len(self.others) > 1 else ""
        return f"{names[0]}..{names[1]}{more}".lstrip(".")


def run(argv: Sequence[str]) -> int:
    """`compare A B [C...]`: print and write the comparison; 0 where all may be compared with the first, else 1."""
    from bench.tables.several import markdown, page

    if len(argv) < 2:
        raise UserError("compare takes two runs or more, such as: scripts/report.sh RUN OTHER")
    found = several([find_run(name) for name in argv])
    folder = RESULTS / FOLDER / found.title
    text = markdown(found)
    files = {"comparison.md": text, "index.html": page(found)}
    files["comparison.jsonl"] = "".join(lines(other.rows) for other in found.others)
    if found.histories:
        files["history.jsonl"] = "".join(f"{history.to_json()}\n" for history in found.histories)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_file(folder / name, data)
        if not found.histories:
            (folder / "history.jsonl").unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}; make room there, or mend its owner") from error
    print(text, end="")
    return 0 if len(found.compared) == len(found.others) else 1


def several(folders: Sequence[Path]) -> Several:
    """Read the runs, one after the other; UserError where one is given twice."""
    places = Counter(folder.resolve() for folder in folders)
    twice = [folder for folder in folders if places[folder.resolve()] > 1]
    if twice:
        raise UserError(f"{twice[0].name} is given twice: a run has nothing to compare with itself")
    names = _names(folders)
    first, samples = _read(folders[0], names[0])
    seen = {_measurements(first): names[0]}
    others, alike = [], [samples]
    for folder, name in zip(folders[1:], names[1:], strict=True):
        facts, its = _read(folder, name)
        same = seen.setdefault(_measurements(facts), name)
        if same != name and _measurements(facts):
            raise UserError(f"{name} has the same measurements as {same}: a run has nothing to compare with itself")
        verdict = compare(first, facts)
        other = Other(name, verdict)
        rows = compare_runs(samples, its, other.cause)
        others.append(replace(other, rows=tuple(rows), **_controls(samples, its)))
        if verdict.comparable:
            alike.append(its)
    return Several(names[0], tuple(others), tuple(histories_of(alike)))


def _controls(one: Samples, other: Samples) -> dict[str, Any]:
    deltas = {figure: max(one.limits[figure].delta, other.limits[figure].delta) for figure in one.limits}
    return {"drifts": tuple(drifts_of(one, other)), "deltas": deltas}


def _names(folders: Sequence[Path]) -> list[str]:
    """The folders' names; the whole path where two have the same."""
    count = Counter(folder.name for folder in folders)
    return [folder.name if count[folder.name] == 1 else str(folder) for folder in folders]


def _read(folder: Path, name: str) -> tuple[Facts, Samples]:
    """A run's facts and samples."""
    facts = read_facts(str(folder))
    judged = judge_pairs(pairs_of(facts.run), facts.records)
    return facts, samples_of(name, list(facts.services), facts.records, judged)


def _measurements(facts: Facts) -> frozenset[tuple[str, str | None]]:
    """What tells one run's raw output from another's."""
    return frozenset((record.id, record.raw_sha256) for record in facts.records if record.outcome == MEASURED)

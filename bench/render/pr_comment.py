"""The pull request comment, and whether a policy fails: `pr-comment`.

For one run: the verdicts on its pairs, A being the base and B the head. For two runs there is no verdict, since they
were not measured side by side: their figures are listed next to each other if the runs are comparable.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.cells import Cell, Context, cells_of
from bench.analysis.compatibility import Compatibility, compatibility_of
from bench.analysis.pair_analysis import Judged, PlannedPair, judge_pairs, pairs_of
from bench.analysis.run_facts import read_facts
from bench.analysis.verdicts import FASTER, INVALID, NO_DIFFERENCE, NOT_ENOUGH, SLOWER, Verdict
from bench.core.errors import UserError
from bench.records.file import read_records
from bench.records.record import Record
from bench.run.reader import read_run, read_service
from bench.stats.estimates import percent_of
from bench.validity.run_records import service_names

MOST_BYTES = 65_536
"""GitHub limits a comment to this many characters; there are never fewer bytes than characters."""
MOST_ROWS = (30, 10, 3, 0)
"""Rows of a table; the next value is tried if the comment is too long."""
MOST_WORD = 200
"""Most characters of one name or reason."""
ORDER = (INVALID, SLOWER, NOT_ENOUGH, FASTER, NO_DIFFERENCE)
"""Verdicts in the order of their importance to a reviewer."""
POLICY = re.compile(r"(slower|invalid|not-enough-data|not-comparable)(?::(\d{1,3}(?:\.\d{1,3})?)%)?\Z", re.ASCII)
_ENDS = str.maketrans({"`": "'", "|": "\N{BROKEN BAR}"})
"""Characters that end a code span or a cell; a backslash does not escape both on GitHub."""
WHY_NO_VERDICT = "verdicts need base and head as pairs of one run (docs/ci.md)"


@dataclass(frozen=True, slots=True)
class Row:
    """A pair with its verdict, and those of its services that could not be measured."""

    pair: PlannedPair
    found: Verdict
    failed: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The verdict without its cause."""
        return INVALID if self.found.word.startswith(INVALID) else self.found.word


@dataclass(frozen=True, slots=True)
class Policy:
    """What gives exit status 1; `slower` if B is slower by more than `percent`."""

    name: str
    percent: float = 0.0

    def violated_by(self, row: Row) -> bool:
        """Whether one pair violates it; a service that could not be measured counts as invalid."""
        if self.name == SLOWER:
            return row.kind == SLOWER and _slower(row.found) > self.percent
        return self.name == row.kind.replace(" ", "-") or (self.name == INVALID and bool(row.failed))


@dataclass(frozen=True, slots=True)
class Comment:
    """Its Markdown, and the number of pairs or cells that violate a policy."""

    text: str
    violations: int


def parse_policy(text: str) -> Policy:
    """Parse a policy; UserError if it is none."""
    found = POLICY.match(text)
    if not found or (found[2] and found[1] != SLOWER):
        raise UserError(f"policy '{text}' is none of: slower, slower:5%, invalid, not-enough-data, not-comparable")
    return Policy(found[1], float(found[2] or 0))


def of_one(folder: Path, policies: Sequence[Policy]) -> Comment:
    """The comment on a run's pairs; UserError if it has none."""
    if any(policy.name == "not-comparable" for policy in policies):
        raise UserError("--fail-on not-comparable needs two runs, and one was given")
    source = read_run(str(folder))
    judged = judge_pairs(pairs_of(source.facts), read_records(folder))
    if not judged.pairs:
        raise UserError(f"{folder.name} has no pairs and so no verdicts: measure with --mode duet (docs/ci.md)")
    failures = {name: failed for name in service_names(source) if (failed := read_service(source.path, name).failure)}
    return verdict_comment(folder.resolve().name, judged, policies, failures)


def verdict_comment(
    run: str, judged: Judged, policies: Sequence[Policy], failures: Mapping[str, tuple[str, str]]
) -> Comment:
    """Pure: a headline, a row per pair (those without a difference folded away), and the result of each policy.

    `failures` has outcome and detail of the services that could not be measured.
    """
    every = [
        Row(pair, found, tuple(name for name in (pair.a, pair.b) if name in failures))
        for pair, found in zip(judged.pairs, judged.verdicts, strict=True)
    ]
    rows = {kind: [row for row in every if row.kind == kind] for kind in ORDER}
    rows[SLOWER].sort(key=lambda row: -_slower(row.found))
    counts = Counter({kind: len(group) for kind, group in rows.items()})
    head = [
        f"### {_headline(counts)}",
        "",
        f"Run {code(run)}: head against base, measured side by side.",
    ]
    if counts[INVALID] or counts[NOT_ENOUGH]:
        head += ["`invalid` and `not enough data` are not verdicts: whether these pairs differ is unknown."]
    lost = dict.fromkeys(name for row in every for name in row.failed)
    head += [f"Not measured: {code(name)}, {code(': '.join(failures[name]))}." for name in [*lost][: MOST_ROWS[0]]]
    violations = {policy: sum(policy.violated_by(row) for row in every) for policy in policies}
    foot = [_policy_line(policy, count, counts) for policy, count in violations.items()]
    first = [row for kind in ORDER if kind != NO_DIFFERENCE for row in rows[kind]]
    same = rows[NO_DIFFERENCE]
    return Comment(
        _fit(head, [("", first), (f"{len(same)} with {NO_DIFFERENCE}", same)], foot), sum(violations.values())
    )


def _headline(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    by_kind = ", ".join(f"{counts[kind]} {kind}" for kind in ORDER if counts[kind])
    return f"{total} {'pair' if total == 1 else 'pairs'}: {by_kind}"


def _policy_line(policy: Policy, count: int, counts: Mapping[str, int]) -> str:
    option = f"`--fail-on {policy.name}{f':{policy.percent:g}%' if policy.percent else ''}`"
    unknown = counts[INVALID] + counts[NOT_ENOUGH]
    silent = f"; pairs without a verdict are not covered: {unknown}" if policy.name == SLOWER and unknown else ""
    return f"{option}: {f'violated by {count}' if count else 'passed'}{silent}."


def _fit(head: Sequence[str], parts: Sequence[tuple[str, Sequence[Row]]], foot: Sequence[str]) -> str:
    """The whole comment, with fewer rows if it would be too long."""
    for most in MOST_ROWS:
        lines = [*head]
        for title, rows in parts:
            table = [*_table(rows[:most]), *_more(rows, most, "pairs: see the run's report")]
            if rows and title:
                table = [f"<details><summary>{title}</summary>", "", *table, "", "</details>"]
            lines += ["", *table] if rows else []
        text = _text(lines, foot)
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def _text(lines: Sequence[str], foot: Sequence[str]) -> str:
    return "\n".join([*lines, *(["", *foot] if foot else [])]) + "\n"


def _table(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    lines = ["| head | base | load | verdict | metric | remarks |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        pair, found = row.pair, row.found
        remarks = "; ".join([*([found.reason] if found.reason else []), *found.flags])
        words = code(found.words()) if row.kind == INVALID else found.words()
        cells = [code(pair.b), code(pair.a), code(" ".join(pair.table)), words, str(found.metric), code(remarks)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def of_two(folders: Sequence[Path], policies: Sequence[Policy]) -> Comment:
    """The comment on two runs: figures if the runs are comparable, and no verdict."""
    for policy in policies:
        if policy.name in (SLOWER, "not-enough-data"):
            raise UserError(f"--fail-on {policy.name} does not work with two runs: {WHY_NO_VERDICT}")
    verdict = compatibility_of(*(read_facts(str(folder)) for folder in folders))
    records = [read_records(folder) for folder in folders]
    return side_by_side([folder.resolve().name for folder in folders], verdict, records, policies)


def side_by_side(
    names: Sequence[str], verdict: Compatibility, records: Sequence[Sequence[Record]], policies: Sequence[Policy]
) -> Comment:
    """Pure: the goodput of the cells that both runs have, if the runs are comparable."""
    differences = [f"- {code(found.line())}" for found in verdict.differences]
    head = [
        f"### No verdict: two {'' if verdict.comparable else 'incompatible '}runs",
        "",
        f"{code(names[0])} and {code(names[1])} were not measured side by side, so a difference may come from the"
        f" host: {WHY_NO_VERDICT}.",
    ]
    solo = [[record for record in every if record.mode == "solo"] for every in records]
    cells = [{_key(cell): cell for cell in cells_of(every, Context((), None))} for every in solo]
    both = [key for key in cells[0] if key in cells[1]]
    invalid = [key for key in both if any(group[key].goodput is None for group in cells)]
    violations = 0
    foot = []
    for policy in policies:
        count = len(invalid) if policy.name == INVALID else int(not verdict.comparable)
        foot.append(f"`--fail-on {policy.name}`: {f'violated by {count}' if count else 'passed'}.")
        violations += count
    rows = [_row(key, [group[key] for group in cells]) for key in both] if verdict.comparable else []
    for most in MOST_ROWS:
        lines = [*head, *([""] if differences else []), *differences[:most]]
        lines += _more(differences, most, "differences: see scripts/compare-runs.sh --check")
        if rows:
            lines += [
                "",
                "| service | load | requests/s, first run | requests/s, second run |",
                "| --- | --- | --- | --- |",
            ]
            lines += [*rows[:most], *_more(rows, most, "cells: see the runs' reports")]
        text = _text(lines, foot)
        if len(text.encode()) <= MOST_BYTES:
            break
    return Comment(text, violations)


def _more(rows: Sequence[object], most: int, where: str) -> list[str]:
    return ["", f"{len(rows) - most} more {where}."] if rows[most:] else []


def _key(cell: Cell) -> tuple[str, str]:
    return cell.service, f"{cell.first.scenario} {cell.first.tool} {cell.first.level}"


def _row(key: tuple[str, str], both: Iterable[Cell]) -> str:
    words = [cell.rate_words() if cell.goodput is not None else code(cell.state) for cell in both]
    return "| " + " | ".join([*map(code, key), *words]) + " |"


def _slower(found: Verdict) -> float:
    """By how many percent B is slower than A, as the verdict says it."""
    return 0.0 if found.estimate is None else percent_of(-found.estimate.mean)


def code(text: str) -> str:
    """`text` as one short code span, in which GitHub sees no link, mention, issue number or HTML.

    Characters that are invisible or change the text direction are replaced by a visible one.
    """
    line = " ".join(text.split())
    shown = "".join("\ufffd" if unicodedata.category(mark)[0] == "C" else mark for mark in line)
    short = shown if len(shown) <= MOST_WORD else shown[: MOST_WORD - 1] + "…"
    return "`" + short.translate(_ENDS) + "`" if short else ""

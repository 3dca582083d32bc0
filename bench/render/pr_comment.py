"""A comparison as a comment for a pull request, and an exit status by policy: `pr-comment`.

Of one run: the verdicts of its pairs, A being what was, B what is proposed. Of two runs there is no verdict, since they
were not loaded in the same seconds: their figures stand side by side where `comparable` allows it, and nothing more.
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
"""What GitHub takes as one comment is that many characters; bytes are never fewer."""
MOST_ROWS = (30, 10, 3, 0)
"""Rows of a table, and fewer where they are too long."""
MOST_WORD = 200
"""Characters of one name or reason."""
ORDER = (INVALID, SLOWER, NOT_ENOUGH, FASTER, NO_DIFFERENCE)
"""What a reader of a change has to know first."""
POLICY = re.compile(r"(slower|invalid|not-enough-data|not-comparable)(?::(\d{1,3}(?:\.\d{1,3})?)%)?\Z", re.ASCII)
_ENDS = str.maketrans({"`": "'", "|": "\N{BROKEN BAR}"})
"""What would end a span of code, or a cell; GitHub's rules for a backslash before either differ."""
WHY_NO_VERDICT = "verdicts need base and head as pairs of one run (docs/ci.md)"


@dataclass(frozen=True, slots=True)
class Row:
    """A pair with its verdict, and those of its services that were not loaded."""

    pair: PlannedPair
    found: Verdict
    failed: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The verdict's word without its cause."""
        return INVALID if self.found.word.startswith(INVALID) else self.found.word


@dataclass(frozen=True, slots=True)
class Policy:
    """What ends with exit status 1; `slower` where B is slower by more than `percent`."""

    name: str
    percent: float = 0.0

    def broken_by(self, row: Row) -> bool:
        """Whether one pair breaks it; of a service that was not loaded nothing is valid."""
        if self.name == SLOWER:
            return row.kind == SLOWER and _slower(row.found) > self.percent
        return self.name == row.kind.replace(" ", "-") or (self.name == INVALID and bool(row.failed))


@dataclass(frozen=True, slots=True)
class Comment:
    """Its Markdown, and the pairs or cells that broke a policy."""

    text: str
    broken: int


def parse_policy(text: str) -> Policy:
    """The policy of its words; UserError when it is none."""
    found = POLICY.match(text)
    if not found or (found[2] and found[1] != SLOWER):
        raise UserError(f"policy '{text}' is none of: slower, slower:5%, invalid, not-enough-data, not-comparable")
    return Policy(found[1], float(found[2] or 0))


def of_one(folder: Path, policies: Sequence[Policy]) -> Comment:
    """The comment on a run's pairs; UserError where it has none."""
    if any(policy.name == "not-comparable" for policy in policies):
        raise UserError("--fail-on not-comparable is about two runs, and one was given")
    source = read_run(str(folder))
    judged = judge_pairs(pairs_of(source.facts), read_records(folder))
    if not judged.pairs:
        raise UserError(f"{folder.name} has no pairs, and so no verdicts: measure with --mode duet (docs/ci.md)")
    failures = {name: failed for name in service_names(source) if (failed := read_service(source.path, name).failure)}
    return verdict_comment(folder.resolve().name, judged, policies, failures)


def verdict_comment(
    run: str, judged: Judged, policies: Sequence[Policy], failures: Mapping[str, tuple[str, str]]
) -> Comment:
    """Pure: the headline, a row for each pair, those without a difference folded away, and what the policies say.

    `failures` has the services that were not loaded: outcome and detail.
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
        f"Run {code(run)}: what is proposed against what was, both loaded in the same seconds.",
    ]
    if counts[INVALID] or counts[NOT_ENOUGH]:
        head += ["`invalid` and `not enough data` are no verdicts: of these pairs nothing is known."]
    lost = dict.fromkeys(name for row in every for name in row.failed)
    head += [f"Not loaded: {code(name)}, {code(': '.join(failures[name]))}." for name in [*lost][: MOST_ROWS[0]]]
    broken = {policy: sum(policy.broken_by(row) for row in every) for policy in policies}
    foot = [_policy_line(policy, count, counts) for policy, count in broken.items()]
    first = [row for kind in ORDER if kind != NO_DIFFERENCE for row in rows[kind]]
    same = rows[NO_DIFFERENCE]
    return Comment(_fit(head, [("", first), (f"{len(same)} with {NO_DIFFERENCE}", same)], foot), sum(broken.values()))


def _headline(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    told = ", ".join(f"{counts[kind]} {kind}" for kind in ORDER if counts[kind])
    return f"{total} {'pair' if total == 1 else 'pairs'}: {told}"


def _policy_line(policy: Policy, count: int, counts: Mapping[str, int]) -> str:
    asked = f"`--fail-on {policy.name}{f':{policy.percent:g}%' if policy.percent else ''}`"
    unknown = counts[INVALID] + counts[NOT_ENOUGH]
    silent = f"; it says nothing of the {unknown} without a verdict" if policy.name == SLOWER and unknown else ""
    return f"{asked}: {f'broken by {count}' if count else 'not broken'}{silent}."


def _fit(head: Sequence[str], parts: Sequence[tuple[str, Sequence[Row]]], foot: Sequence[str]) -> str:
    """The whole comment, with fewer rows where it would be too long."""
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
    lines = ["| proposed | was | under | verdict | by | mind |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        pair, found = row.pair, row.found
        mind = "; ".join([*([found.reason] if found.reason else []), *found.flags])
        words = code(found.words()) if row.kind == INVALID else found.words()
        cells = [code(pair.b), code(pair.a), code(" ".join(pair.table)), words, str(found.judge), code(mind)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def of_two(folders: Sequence[Path], policies: Sequence[Policy]) -> Comment:
    """The comment on two runs: what may stand side by side, and no verdict."""
    for policy in policies:
        if policy.name in (SLOWER, "not-enough-data"):
            raise UserError(f"--fail-on {policy.name} cannot be told from two runs: {WHY_NO_VERDICT}")
    verdict = compatibility_of(*(read_facts(str(folder)) for folder in folders))
    records = [read_records(folder) for folder in folders]
    return side_by_side([folder.resolve().name for folder in folders], verdict, records, policies)


def side_by_side(
    names: Sequence[str], verdict: Compatibility, records: Sequence[Sequence[Record]], policies: Sequence[Policy]
) -> Comment:
    """Pure: goodput of the cells that both runs have, where nothing forbids to look at both."""
    told = [f"- {code(found.line())}" for found in verdict.differences]
    head = [
        f"### No verdict: two runs{'' if verdict.comparable else ', and not comparable'}",
        "",
        f"{code(names[0])} and {code(names[1])} were not loaded in the same seconds: what differs may be the hour. "
        f"To know, {WHY_NO_VERDICT}.",
    ]
    solo = [[record for record in every if record.mode == "solo"] for every in records]
    cells = [{_key(cell): cell for cell in cells_of(every, Context((), None))} for every in solo]
    both = [key for key in cells[0] if key in cells[1]]
    invalid = [key for key in both if any(group[key].goodput is None for group in cells)]
    broken = 0
    foot = []
    for policy in policies:
        count = len(invalid) if policy.name == INVALID else int(not verdict.comparable)
        foot.append(f"`--fail-on {policy.name}`: {f'broken by {count}' if count else 'not broken'}.")
        broken += count
    rows = [_row(key, [group[key] for group in cells]) for key in both] if verdict.comparable else []
    for most in MOST_ROWS:
        lines = [*head, *([""] if told else []), *told[:most]]
        lines += _more(told, most, "differences: see scripts/compare-runs.sh --check")
        if rows:
            lines += [
                "",
                "| service | under | requests/s, first run | requests/s, second run |",
                "| --- | --- | --- | --- |",
            ]
            lines += [*rows[:most], *_more(rows, most, "cells: see the runs' reports")]
        text = _text(lines, foot)
        if len(text.encode()) <= MOST_BYTES:
            break
    return Comment(text, broken)


def _more(rows: Sequence[object], most: int, where: str) -> list[str]:
    return ["", f"{len(rows) - most} more {where}."] if rows[most:] else []


def _key(cell: Cell) -> tuple[str, str]:
    return cell.service, f"{cell.first.scenario} {cell.first.tool} {cell.first.level}"


def _row(key: tuple[str, str], both: Iterable[Cell]) -> str:
    words = [cell.rate_words() if cell.goodput is not None else code(cell.state) for cell in both]
    return "| " + " | ".join([*map(code, key), *words]) + " |"


def _slower(found: Verdict) -> float:
    """By how many percent A does more than B, as the verdict's own words say it."""
    return 0.0 if found.estimate is None else percent_of(-found.estimate.mean)


def code(text: str) -> str:
    """`text` as one short span of code, in which GitHub sees no link, name, number of an issue, or HTML.

    What does not show, or turns the direction of writing, becomes a mark that does.
    """
    line = " ".join(text.split())
    shown = "".join("\ufffd" if unicodedata.category(mark)[0] == "C" else mark for mark in line)
    short = shown if len(shown) <= MOST_WORD else shown[: MOST_WORD - 1] + "…"
    return "`" + short.translate(_ENDS) + "`" if short else ""

"""The pull request comment on one run, and whether a policy fails: the verdicts on its tables in turns.

The first service of a table is the base, and every other one a head.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.analysis.runs.differences import INVALID
from bench.analysis.services import pairs_of
from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.planned import tables_of
from bench.analysis.tables.ranking import Contrast, RankedRow, Ranking
from bench.core.errors import UserError
from bench.core.formats import NOTHING, percent, plural
from bench.records.file import read_records
from bench.render.comment_parts import MOST_BYTES, MOST_ROWS, Comment, Policy, code, more_words, text_of
from bench.run.reader import read_run, read_service
from bench.stats.table_verdicts import FASTER, NO_DIFFERENCE, NOT_ENOUGH, SLOWER
from bench.validity.run_records import service_names
from bench.words.answers import against
from bench.words.remarks import note_of

ORDER = (INVALID, SLOWER, NOT_ENOUGH, FASTER, NO_DIFFERENCE)
"""Verdicts in the order of their importance to a reviewer."""
HEAD_AND_BASE = "head against base"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Base and head of a table with the verdict on the head; `contrast` is None where it gives none.

    `failed` are those of them that could not be measured.
    """

    ranking: Ranking
    base: RankedRow
    head: RankedRow
    contrast: Contrast | None
    failed: tuple[str, ...] = ()

    @property
    def invalid(self) -> str:
        """Why one of them has no figure; empty if both have, or if nothing was measured yet."""
        lost = (
            one
            for one in (self.base, self.head)
            if one.service in self.failed or (self.ranking.rounds and not one.windows)
        )
        return "; ".join(f"{one.service}: {note_of(one)}" for one in lost)

    @property
    def kind(self) -> str:
        """The verdict, or `invalid`."""
        if self.invalid:
            return INVALID
        return self.contrast.verdict if self.contrast else NOT_ENOUGH

    @property
    def slower_percent(self) -> float:
        """By how many percent the head is slower than the base; negative if it is faster."""
        return -100 * self.contrast.difference if self.contrast else 0.0

    def remarks(self) -> Iterator[str]:
        """What is missing for a verdict, and what is noted of either."""
        ranking, one = self.ranking, self.contrast
        if self.invalid:
            yield self.invalid
            return
        if ranking.look is None:
            yield f"{ranking.rounds} of the {ranking.looks[0]} rounds before the first look"
        elif self.kind in (NOT_ENOUGH, NO_DIFFERENCE) and one and one.smallest_visible is not None:
            yield f"a difference of {100 * one.smallest_visible:.1f} % would most likely have been called"
        if self.kind == NOT_ENOUGH and one and one.more_rounds is not None:
            yield f"{plural(one.more_rounds, 'round')} more would most likely decide it"
        yield from (f"{side.service}: {note_of(side)}" for side in (self.base, self.head) if side.remarks)


def violated_by(policy: Policy, row: Comparison) -> bool:
    """Whether one comparison violates it."""
    if policy.name == SLOWER:
        return row.kind == SLOWER and row.slower_percent > policy.percent
    return policy.name == row.kind.replace(" ", "-")


def of_one(folder: Path, policies: Sequence[Policy]) -> Comment:
    """The comment on a run's tables in turns; UserError if it has none."""
    if any(policy.name == "not-comparable" for policy in policies):
        raise UserError("--fail-on not-comparable needs two runs, and one was given")
    source = read_run(str(folder))
    failures = {name: failed for name in service_names(source) if (failed := read_service(source.path, name).failure)}
    absent = {name: ": ".join(failed) for name, failed in failures.items()}
    rows = rows_of(judge_tables(source.facts, read_records(folder), absent), source.facts, absent)
    if not rows:
        raise UserError(
            f"{folder.name} has no table in turns and so no verdicts: select two services, without --mode (docs/ci.md)"
        )
    refs = against(source.facts)
    sides = f"{HEAD_AND_BASE}, {code(refs)}" if refs else HEAD_AND_BASE
    return verdict_comment(folder.resolve().name, rows, policies, absent, sides)


def rows_of(rankings: Iterable[Ranking], facts: Mapping[str, Any], absent: Collection[str]) -> list[Comparison]:
    """Every service of each table but the first, which is the base, as planned; of refs and of packages, the pairs."""
    rows, pairs = [], pairs_of(facts)
    for ranking, table in zip(rankings, tables_of(facts), strict=True):
        places = {row.service: row for row in ranking.rows}
        contrasts = {(one.a, one.b): one for one in ranking.contrasts}
        own = [pair for pair in pairs if places.keys() >= set(pair)]
        first, *others = table.services
        for base, head in own or [(first, other) for other in others]:
            failed = tuple(name for name in (base, head) if name in absent)
            rows.append(Comparison(ranking, places[base], places[head], contrasts.get((base, head)), failed))
    return rows


def verdict_comment(
    run: str,
    every: Sequence[Comparison],
    policies: Sequence[Policy],
    absent: Mapping[str, str],
    sides: str = HEAD_AND_BASE,
) -> Comment:
    """Pure: a headline, a row per comparison (those without a difference folded away), and the result of each policy.

    `absent` says why services could not be measured, `sides` what is compared.
    """
    rows = {kind: [row for row in every if row.kind == kind] for kind in ORDER}
    rows[SLOWER].sort(key=lambda row: -row.slower_percent)
    counts = Counter({kind: len(group) for kind, group in rows.items()})
    head = [
        f"### {_headline(counts)}",
        "",
        f"Run {code(run)}: {sides}, measured in turns.",
    ]
    if counts[INVALID] or counts[NOT_ENOUGH]:
        head += ["`invalid` and `not enough data` are not verdicts: whether these services differ is unknown."]
    lost = dict.fromkeys(name for row in every for name in row.failed)
    head += [f"Not measured: {code(name)}, {code(absent[name])}." for name in [*lost][: MOST_ROWS[0]]]
    violations = {policy: sum(violated_by(policy, row) for row in every) for policy in policies}
    foot = [_policy_line(policy, count, counts) for policy, count in violations.items()]
    first = [row for kind in ORDER if kind != NO_DIFFERENCE for row in rows[kind]]
    same = rows[NO_DIFFERENCE]
    return Comment(
        _fit(head, [("", first), (f"{len(same)} with {NO_DIFFERENCE}", same)], foot), sum(violations.values())
    )


def _headline(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    by_kind = ", ".join(f"{counts[kind]} {kind}" for kind in ORDER if counts[kind])
    return f"{plural(total, 'comparison')}: {by_kind}"


def _policy_line(policy: Policy, count: int, counts: Mapping[str, int]) -> str:
    option = f"`--fail-on {policy.name}{f':{policy.percent:g}%' if policy.percent else ''}`"
    unknown = counts[INVALID] + counts[NOT_ENOUGH]
    silent = f"; comparisons without a verdict are not covered: {unknown}" if policy.name == SLOWER and unknown else ""
    return f"{option}: {f'violated by {count}' if count else 'passed'}{silent}."


def _fit(head: Sequence[str], parts: Sequence[tuple[str, Sequence[Comparison]]], foot: Sequence[str]) -> str:
    """The whole comment, with fewer rows if it would be too long."""
    for most in MOST_ROWS:
        lines = [*head]
        for title, rows in parts:
            table = [*_table(rows[:most]), *more_words(rows, most, "comparisons: see the run's report")]
            if rows and title:
                table = [f"<details><summary>{title}</summary>", "", *table, "", "</details>"]
            lines += ["", *table] if rows else []
        text = text_of(lines, foot)
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def _table(rows: Sequence[Comparison]) -> list[str]:
    if not rows:
        return []
    columns = ("head", "base", "load", "verdict", "difference", "interval", "metric", "rounds", "remarks")
    lines = [f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
    for row in rows:
        one, ranking = row.contrast, row.ranking
        difference = percent(1 + one.difference) if one and not row.invalid else NOTHING
        interval = NOTHING
        if one and one.interval and not row.invalid:
            interval = f"{percent(1 + one.interval[0])} to {percent(1 + one.interval[1])}"
        cells = [code(row.head.service), code(row.base.service), code(" ".join(ranking.table)), row.kind, difference]
        cells += [interval, str(ranking.metric), str(ranking.rounds), code("; ".join(row.remarks()))]
        lines.append(f"| {' | '.join(cells)} |")
    return lines

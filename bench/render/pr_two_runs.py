"""The pull request comment on two runs: figures next to each other, and no verdict, as the runs share no window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.analysis.cells.cell import Cell, Context, cells_of
from bench.analysis.runs.compatibility import Compatibility, compatibility_of, read_facts
from bench.analysis.runs.differences import INVALID
from bench.core.errors import UserError
from bench.records.file import read_records
from bench.records.record import Record
from bench.render.comment_parts import MOST_BYTES, MOST_ROWS, WHY_NO_VERDICT, Comment, Policy, code, more_words, text_of
from bench.stats.table_verdicts import SLOWER
from bench.words.cells import rate_words, state_words
from bench.words.runs import difference_words


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
    differences = [f"- {code(difference_words(found))}" for found in verdict.differences]
    head = [
        f"### No verdict: two {'' if verdict.comparable else 'incompatible '}runs",
        "",
        f"{code(names[0])} and {code(names[1])} share no window, so a difference may come from the"
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
        lines += more_words(differences, most, "differences: see scripts/compare-runs.sh --check")
        if rows:
            lines += [
                "",
                "| service | load | requests/s, first run | requests/s, second run |",
                "| --- | --- | --- | --- |",
            ]
            lines += [*rows[:most], *more_words(rows, most, "cells: see the runs' reports")]
        text = text_of(lines, foot)
        if len(text.encode()) <= MOST_BYTES:
            break
    return Comment(text, violations)


def _key(cell: Cell) -> tuple[str, str]:
    return cell.service, f"{cell.first.scenario} {cell.first.tool} {cell.first.level}"


def _row(key: tuple[str, str], both: Iterable[Cell]) -> str:
    words = [rate_words(cell) if cell.goodput is not None else code(state_words(cell)) for cell in both]
    return "| " + " | ".join([*map(code, key), *words]) + " |"

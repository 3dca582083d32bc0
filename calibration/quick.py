"""How much of a quiet run's answer another run gives, such as one on a busy machine: rows and large differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.core.errors import UserError
from bench.stats.table_verdicts import FASTER, SLOWER, TURNED
from calibration.report import row, verdict, verdict_lines

KEPT = 0.9
"""The share of rows that must have a figure, and of large differences that must be detected."""
LARGE = 0.10
"""The other run must detect every difference that the quiet run detected and estimated at more than this."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run's tables say: (table, service) -> whether it has figures; (table, a, b) -> (verdict, difference)."""

    rows: dict[tuple[str, str], bool]
    contrasts: dict[tuple[str, str, str], tuple[str, float]]


def answer_of(folder: str) -> Answer:
    """The answer in a run's verdicts.jsonl; UserError if it has no table in turns."""
    lines = verdict_lines(folder)
    rows = {(_table(one), one["service"]): bool(one["goodput"]) for one in lines if one["kind"] == "service"}
    contrasts = dict(_both_ways(one for one in lines if one["kind"] == "contrast"))
    if not rows:
        raise UserError(f"{folder} has no table in turns")
    return Answer(rows, contrasts)


def _table(line: dict[str, Any]) -> str:
    return f"{line['scenario']} {line['tool']} {line['level']}"


def _both_ways(lines: Iterator[dict[str, Any]]) -> Iterator[tuple[tuple[str, str, str], tuple[str, float]]]:
    """Each contrast in both directions, because another run may have ranked the services in another order."""
    for one in lines:
        yield (_table(one), one["a"], one["b"]), (one["verdict"], one["difference"])
        yield (_table(one), one["b"], one["a"]), (TURNED[one["verdict"]], 1 / (1 + one["difference"]) - 1)


def quick(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds): the last run against the quiet ones before it; for a single run only its rows."""
    *quiet, judged = map(answer_of, folders)
    figures, planned = sum(judged.rows.values()), len(judged.rows)
    rows = ["| | of | kept | |", "| --- | ---: | ---: | --- |"]
    holds = figures >= KEPT * planned
    rows.append(row(["rows with figures", str(planned), str(figures), verdict(holds)]))
    for one in quiet:
        # Each pair once, in the direction in which it is slower.
        least = 1 / (1 + LARGE) - 1
        large = [key for key, (word, size) in one.contrasts.items() if word == SLOWER and size < least]
        if not large:
            raise UserError(f"the run to compare with calls no difference above {LARGE:.0%}")
        words = [judged.contrasts.get(key, ("", 0.0))[0] for key in large]
        called, wrong = words.count(SLOWER), words.count(FASTER)
        kept = called >= KEPT * len(large) and not wrong
        holds &= kept
        of = str(len(large))
        rows.append(row([f"differences above {LARGE:.0%} that are called", of, str(called), verdict(kept)]))
        rows.append(row(["of these, with the wrong sign", of, str(wrong), verdict(not wrong)]))
    return "\n".join(rows), holds

"""What is measured where the time does not suffice for all: those tables that get a look in it.

Pure. A table is chosen if it can reach its next look in the time that is left: those first that have rounds beyond
their last look, then those with the fewest rounds, in the order of the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.drive.steps import Step
from bench.plan.interim_looks import table_looks

Table = tuple[str, str, str]
"""Scenario, tool, level."""


@dataclass(frozen=True, slots=True)
class _Open:
    """What a table needs to its next look: `fresh` if it has no rounds beyond the last one, of `done`."""

    name: Table
    fresh: bool
    done: int
    needed_s: float


def in_time(planned: Sequence[Step], left: Sequence[Step], seconds: float) -> tuple[Step, ...]:
    """The steps of `left` without the tables that get no look in `seconds`; all if none gets one."""
    rounds = _rounds(planned)
    opened = _rounds(left)
    found = [_open(name, sorted(opened[name].items()), len(rounds[name])) for name in opened]
    chosen: set[Table] = set()
    for one in sorted(found, key=lambda one: (one.fresh, one.done)):
        if one.needed_s <= seconds:
            seconds -= one.needed_s
            chosen.add(one.name)
    others = opened.keys() - chosen
    return tuple(_without(left, others)) if chosen and others else tuple(left)


def _rounds(steps: Iterable[Step]) -> dict[Table, dict[int, float]]:
    """Expected seconds of each round of each table; tables share those of their blocks."""
    found: dict[Table, dict[int, float]] = {}
    for step in steps:
        for name, share in _shares(step).items():
            own = found.setdefault(name, {})
            own[step.round] = own.get(step.round, 0.0) + share * step.seconds
    return found


def _shares(step: Step) -> Mapping[Table, float]:
    if step.mode != "turns":
        return {}
    tables = [(str(line["scenario"]), str(line["tool"]), str(line["level"])) for line in step.lines]
    return {table: tables.count(table) / len(tables) for table in dict.fromkeys(tables)}


def _open(name: Table, rounds: Sequence[tuple[int, float]], planned: int) -> _Open:
    done = planned - len(rounds)
    looks = table_looks(planned)
    look = next(look for look in looks if done < look)
    needed = sum(seconds for _, seconds in rounds[: look - done])
    return _Open(name, done == 0 or done in looks, done, needed)


def _without(left: Iterable[Step], names: Collection[Table]) -> Iterable[Step]:
    for step in left:
        kept = step.without(tables=names) if step.mode == "turns" else step
        if kept:
            yield kept

"""What is measured where the time does not suffice for all: those tables and pairs that get a look in it.

Pure. A table or pair is chosen if it can reach its next look in the time that is left: those first that have rounds
beyond their last look, then those with the fewest rounds, in the order of the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.drive.steps import Step
from bench.plan.interim_looks import LOOKS, table_looks

Compared = tuple[str, ...]
"""A table's (scenario, tool, level), or a pair's (name,)."""


@dataclass(frozen=True, slots=True)
class _Open:
    """What a table or pair needs to its next look: `fresh` if it has no rounds beyond the last one, of `done`."""

    name: Compared
    fresh: bool
    done: int
    needed_s: float


def in_time(planned: Sequence[Step], left: Sequence[Step], seconds: float) -> tuple[Step, ...]:
    """The steps of `left` without the tables and pairs that get no look in `seconds`; all if none gets one."""
    rounds = _rounds(planned)
    opened = _rounds(left)
    found = [_open(name, sorted(opened[name].items()), len(rounds[name])) for name in opened]
    seconds -= _controls_s(left, opened)
    chosen: set[Compared] = set()
    for one in sorted(found, key=lambda one: (one.fresh, one.done)):
        if one.needed_s <= seconds:
            seconds -= one.needed_s
            chosen.add(one.name)
    others = opened.keys() - chosen
    return tuple(_without(left, others)) if chosen and others else tuple(left)


def _rounds(steps: Iterable[Step]) -> dict[Compared, dict[int, float]]:
    """Expected seconds of each round of each table and pair; tables share those of their blocks."""
    found: dict[Compared, dict[int, float]] = {}
    for step in steps:
        for name, share in _shares(step).items():
            own = found.setdefault(name, {})
            own[step.round] = own.get(step.round, 0.0) + share * step.seconds
    return found


def _shares(step: Step) -> Mapping[Compared, float]:
    if step.mode == "duet" and step.pair and not step.control:
        return {(step.pair,): 1.0}
    if step.mode != "turns":
        return {}
    tables = [(str(line["scenario"]), str(line["tool"]), str(line["level"])) for line in step.lines]
    return {table: tables.count(table) / len(tables) for table in dict.fromkeys(tables)}


def _open(name: Compared, rounds: Sequence[tuple[int, float]], planned: int) -> _Open:
    done = planned - len(rounds)
    looks = LOOKS if len(name) == 1 else table_looks(planned)
    look = min((look for look in looks if done < look <= planned), default=planned)
    needed = sum(seconds for _, seconds in rounds[: look - done])
    return _Open(name, done == 0 or done in looks, done, needed)


def _controls_s(left: Sequence[Step], opened: Mapping[Compared, object]) -> float:
    """Of the controls until the first look at pairs."""
    if not any(len(name) == 1 for name in opened):
        return 0.0
    rounds = sorted({step.round for step in left if step.mode == "duet"})[: LOOKS[0]]
    return sum(s.seconds for s in left if s.round in rounds and (s.control or s.mode == "null"))


def _without(left: Iterable[Step], names: Collection[Compared]) -> Iterable[Step]:
    for step in left:
        if step.mode == "turns":
            if kept := step.without(tables=[(a, b, c) for a, b, c in (n for n in names if len(n) == 3)]):
                yield kept
        elif step.control or step.mode != "duet" or (step.pair or "",) not in names:
            yield step

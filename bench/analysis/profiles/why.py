"""Why two services of a table differ: what each sampled function and package costs on either side.

Only differences beyond chance are findings: intervals of functions are corrected for multiple comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.analysis.profiles.sampled import Profile, costs_by_round, nearest_the_top
from bench.analysis.profiles.stacks import innermost_counts
from bench.analysis.tables.ranking import Contrast, Ranking
from bench.records.record import Record
from bench.stats.cost_shares import Apart, Shift, apart, shift

MOST_FINDINGS = 10
"""The most differences that a comparison lists."""
TOO_FEW_ROUNDS = "fewer than three rounds know the CPU time per request of both"


@dataclass(frozen=True, slots=True)
class CostDifference:
    """A function, as `file:function`, or a package, whose cost differs by more than chance; in µs per request."""

    name: str
    shift: Shift


@dataclass(frozen=True, slots=True)
class Why:
    """The findings on a contrast, the largest differences first; `within`: how many functions show no difference."""

    contrast: Contrast
    base: Profile
    head: Profile
    costs: Apart | None = None
    functions: tuple[CostDifference, ...] = ()
    packages: tuple[CostDifference, ...] = ()
    within: int = 0
    missing: str = ""


def explanations(ranking: Ranking, profiles: Iterable[Profile], records: Sequence[Record]) -> list[Why]:
    """The findings on each contrast with both sides sampled; called ones first, from the top of the table down."""
    known = {one.service: one for one in profiles if not one.missing}
    sampled = [one for one in nearest_the_top(ranking) if one.a in known and one.b in known]
    return [_why(one, known[one.a], known[one.b], records) for one in sampled]


def _why(contrast: Contrast, base: Profile, head: Profile, records: Sequence[Record]) -> Why:
    one, other = (costs_by_round(records, side) for side in (base, head))
    costs = apart([(one[number], other[number]) for number in sorted(one.keys() & other.keys())])
    if costs is None:
        return Why(contrast, base, head, missing=TOO_FEW_ROUNDS)
    functions, within = _findings(costs, (base, head), "label")
    packages, _ = _findings(costs, (base, head), "package")
    return Why(contrast, base, head, costs, functions, packages, within)


def _findings(
    costs: Apart, sides: tuple[Profile, Profile], part: Literal["label", "package"]
) -> tuple[tuple[CostDifference, ...], int]:
    """(the largest differences beyond chance, how many names show none)."""
    counts = [innermost_counts(side.stacks, part) for side in sides]
    names = {name for found in counts for name in found}
    differences = []
    for name in names:
        sampled = zip(counts, sides, strict=True)
        base, head = ((found.get(name, 0) / side.alike, side.samples / side.alike) for found, side in sampled)
        differences.append(CostDifference(name, shift(costs, base, head, len(names))))
    shown = [one for one in differences if one.shift.shown]
    shown.sort(key=lambda one: (-abs(one.shift.difference), one.name))
    return tuple(shown[:MOST_FINDINGS]), len(differences) - len(shown)

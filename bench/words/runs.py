"""Two runs or two commits in words: their differences, and the verdicts of a bisection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.analysis.runs.bisection import Commit, commit_verdict
from bench.analysis.runs.compatibility import Discrepancy, conditions
from bench.analysis.tables.ranking import Contrast, Metric
from bench.core.errors import UserError
from bench.core.formats import first_of
from bench.matrix.packages import Pins
from bench.plan.running import UNKNOWN
from bench.run.facts import RunFacts
from bench.run.reader import ServiceFacts
from bench.stats.table_verdicts import NO_WINNER, SLOWER
from bench.words.changes import change, change_words


def discrepancy_words(discrepancy: Discrepancy) -> str:
    """`incompatible: host kernel: 6.1.0 vs 6.12.0`."""
    why = f" ({discrepancy.why})" if discrepancy.why else ""
    kind = "incompatible" if discrepancy.forbids else "noted"
    return f"{kind}: {discrepancy.name}: {discrepancy.one} vs {discrepancy.other}{why}"


def compatibility_lines(discrepancies: Sequence[Discrepancy]) -> list[str]:
    """One line per difference, then the result."""
    causes = dict.fromkeys(found.name for found in discrepancies if found.forbids)
    last = f"not comparable: {', '.join(causes)}" if causes else "comparable"
    return [*map(discrepancy_words, discrepancies), last]


Layers = Mapping[str, Sequence[str]]
SHOWN = 4
"""The most services that a line names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Then:
    """The run that is repeated: what its run.json says, the plan's lines and the contents of its services.

    `layers`: the layers of an image that was built on each base, by the base's name.
    """

    name: str
    facts: RunFacts
    plan: Sequence[Mapping[str, Any]]
    services: Mapping[str, ServiceFacts] = field(default_factory=dict)
    layers: Layers = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """The repetition: its run.json, the plan's lines, its services' pins, and the layers of bases available here."""

    facts: RunFacts
    plan: Sequence[Mapping[str, Any]]
    pins: Mapping[str, Pins]
    bases: Layers


def since_then(then: Then, now: Now) -> list[str]:
    """A line on the whole, then one for each difference."""
    differences = list(
        dict.fromkeys([*_commit(then, now), *_conditions(then, now), *_services(then, now), *_plan(then, now)])
    )
    count = f"{len(now.plan)} measurements, seed {now.facts.seed}"
    if not differences:
        return [f"repeats {then.name}: {count}; no known differences"]
    same = "in the same order" if _same(then.plan, now.plan) else "with these differences"
    return [f"repeats {then.name}: {count}, {same}", *(f"differs: {line}" for line in differences)]


def _line(name: str, old: object, new: object) -> str:
    return f"{name}: {old} then, {new} now"


def _commit(then: Then, now: Now) -> Iterator[str]:
    old, new = then.facts.harness.commit, now.facts.harness.commit
    if old != new:
        yield _line("commit", *((commit or UNKNOWN)[:12] for commit in (old, new)))


def _conditions(then: Then, now: Now) -> Iterator[str]:
    for discrepancy in conditions(then.facts, now.facts):
        why = f" ({discrepancy.why})" if discrepancy.why else ""
        yield _line(discrepancy.name, discrepancy.one, discrepancy.other) + why


def _services(then: Then, now: Now) -> Iterator[str]:
    first, second = then.facts.services, now.facts.services
    skipped = {skip.service: skip.cause for skip in now.facts.skipped}
    for name in first.keys() - second.keys() & skipped.keys():
        yield f"{name} is skipped this time: {skipped[name]}"
    yield from _listed("not measured now", [n for n in first if n not in second and n not in skipped])
    yield from _listed("measured now only", [name for name in second if name not in first])
    both = [name for name in first if name in second]
    yield from _bases(then, now, [(first[name].base_image, second[name].base_image) for name in both])
    yield from _packages(then, now, both)


def _bases(then: Then, now: Now, both: Iterable[tuple[str, str]]) -> Iterator[str]:
    for old, new in dict.fromkeys(both):
        if old != new:
            yield _line("base image", old, new)
        elif old and old not in now.bases:
            yield f"base image {old}: not pulled yet, so it may be a different build"
        elif old and old in then.layers and list(then.layers[old][: len(now.bases[old])]) != list(now.bases[old]):
            yield f"base image {old}: a different build"


def _packages(then: Then, now: Now, names: Iterable[str]) -> Iterator[str]:
    """A line for each package whose version changed."""
    changed: dict[tuple[str, str, str], list[str]] = {}
    known = [name for name in names if name in now.pins and then.services.get(name)]
    for name in known:
        had, pins = then.services[name].packages, now.pins[name]
        for package in dict.fromkeys([*had, *pins.versions]) if had else ():
            old, new = had.get(package), pins.versions.get(package)
            if old != new and (pins.whole or (old and new)):
                changed.setdefault((package, old or "none", new or "none"), []).append(name)
    for (package, old, new), where in sorted(changed.items()):
        yield _line(f"package {package}", old, new) + f" ({first_of(where, SHOWN)})"
    unknown = [name for name in names if name in now.pins and not (name in known and then.services[name].packages)]
    yield from _listed("packages then are not known", unknown)


def _plan(then: Then, now: Now) -> Iterator[str]:
    if len(then.plan) != len(now.plan):
        yield _line("measurements", len(then.plan), len(now.plan))
    elif not _same(then.plan, now.plan):
        old, new = (Counter(map(_what, plan)) for plan in (then.plan, now.plan))
        yield "measurements: in another order" if old == new else "measurements: as many, but of other loads"


def _same(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two plans agree in the keys that both have."""
    return len(old) == len(new) and all(
        all(a[key] == b[key] for key in a.keys() & b.keys()) for a, b in zip(old, new, strict=True)
    )


def _what(line: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(line.get(key)) for key in ("mode", "service", "scenario", "tool", "level"))


def _listed(words: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{words}: {first_of(names, SHOWN)}"


def whole_difference(metric: Metric, contrast: Contrast | None, cause: str) -> float:
    """The bad commit's difference from the good one; UserError if it is not shown to be slower.

    `cause`: why one of them has no figure; empty if both have.
    """
    if cause:
        raise UserError(f"good and bad cannot be compared: {cause}")
    if contrast is None or contrast.verdict != SLOWER:
        raise UserError(
            f"nothing to bisect: bad is not shown to be slower than good: {contrast_words(metric, contrast)}"
        )
    return contrast.difference


def commit_words(metric: Metric, contrast: Contrast | None, cause: str, whole: float, good_failed: bool = False) -> str:
    """`bad: slower: needs 5.0 % more CPU per request (..)`: the verdict on a commit, and why.

    `cause`: why the commit or the good one has no figure; `whole`: the difference between bad and good.
    """
    word = commit_verdict(contrast, bool(cause), whole, good_failed)
    why = cause or contrast_words(metric, contrast)
    if not cause and word == Commit.GOOD and contrast is not None and contrast.verdict == NO_WINNER:
        why += f", less than half of {change(metric, whole, None).signed()}"
    return f"{word}: {why}"


def contrast_words(metric: Metric, contrast: Contrast | None) -> str:
    """The verdict with what changed and its interval."""
    return NO_WINNER if contrast is None else f"{contrast.verdict}: {change_words(metric, contrast)}"

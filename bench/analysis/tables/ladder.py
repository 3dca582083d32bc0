"""Releases of one package in their order: the steps from each to the next, and which of them the verdicts show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bench.analysis.tables.metric import Metric
from bench.analysis.tables.ranking import Ranking
from bench.analysis.words.conclusions import Coordinates
from bench.analysis.words.tables.order import CPU, REQUESTS, Told, percent_words
from bench.stats.table_verdicts import FASTER, NO_DIFFERENCE, NOT_ENOUGH, SLOWER

LEAST = 3
"""Releases of a ladder: two are a comparison like any other."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The services of one stack with releases of `package`, from the oldest to the newest, and the others' versions."""

    package: str
    stack: str
    services: tuple[str, ...]
    versions: tuple[str, ...]

    @property
    def steps(self) -> Iterator[tuple[int, int]]:
        """The places of each two neighbours."""
        return pairwise(range(len(self.services)))


def ladder_of(services: Sequence[str], places: Mapping[str, Coordinates]) -> Ladder | None:
    """The ladder that services make which differ in their package alone; None where they make none."""
    # Imported where it is needed, as the measuring loop has to do without.
    from packaging.version import InvalidVersion, Version

    found: list[tuple[Version, str, str]] = []
    names = set()
    for service in services:
        name, _, text = (places[service].package or "").partition("==")
        try:
            version = Version(text)
        except InvalidVersion:
            return None
        # What was built from a source has no place among releases.
        if version.local:
            return None
        names.add(name)
        found.append((version, text, service))
    if len(found) < LEAST or len(names) != 1:
        return None
    found.sort()
    stack = places[services[0]].stack
    return Ladder(names.pop(), stack, tuple(one[2] for one in found), tuple(one[1] for one in found))


def ladders(ranking: Ranking, places: Mapping[str, Coordinates]) -> list[Ladder]:
    """All of a table, with the releases that have no figure."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for row in ranking.rows:
        place = places.get(row.service)
        if place and place.package:
            name = place.package.partition("==")[0]
            key = (place.server, place.framework, place.python, place.base, place.settings, name)
            groups.setdefault(key, []).append(row.service)
    return [ladder for services in groups.values() if (ladder := ladder_of(services, places))]


def verdict_of(ranking: Ranking, old: str, new: str) -> str:
    """What a release is relative to an older one; empty where they are not compared."""
    for one in ranking.contrasts:
        if (one.a, one.b) == (old, new):
            return one.verdict
        if (one.a, one.b) == (new, old):
            return {FASTER: SLOWER, SLOWER: FASTER}.get(one.verdict, one.verdict)
    return ""


def ladder_sentence(told: Told, ladder: Ladder) -> str:
    """The steps that are real, and the one from the first to the last, in words without the full stop."""
    real, alike, open_ = [], [], 0
    for a, b in ladder.steps:
        words = _step(told, ladder, a, b)
        verdict = verdict_of(told.ranking, ladder.services[a], ladder.services[b])
        if words:
            real.append(words)
        elif verdict == NO_DIFFERENCE:
            alike.append((a, b))
        else:
            open_ += 1
    last = len(ladder.services) - 1
    parts = real or ["no step from one release to the next is shown to be real"]
    if alike:
        steps = "no other step" if real and not open_ else f"{len(alike)} step{'s' * (len(alike) > 1)}"
        shows = "shows" if steps == "no other step" or len(alike) == 1 else "show"
        what = "a difference" if steps == "no other step" else "no difference"
        parts.append(f"{steps} {shows} {what}{_within(told, ladder, alike)}")
    if open_:
        parts.append(f"of {open_} step{'s' * (open_ > 1)} there is {NOT_ENOUGH}")
    whole = _step(told, ladder, 0, last) or f"{ladder.versions[last]} and {ladder.versions[0]} cannot be told apart"
    name = f"{ladder.package} from {ladder.versions[0]} to {ladder.versions[last]}"
    return f"{name}: {'; '.join([*parts, f'in all, {whole}'])}"


def _step(told: Told, ladder: Ladder, a: int, b: int) -> str:
    """`23.0.0 is slower than 22.0.0: it needs 3 % more CPU per request (2 to 4 %)`; empty where it is not real."""
    old, new = (ladder.versions[at] for at in (a, b))
    verdict = verdict_of(told.ranking, ladder.services[a], ladder.services[b])
    if verdict not in (FASTER, SLOWER):
        return ""
    ends = (ladder.services[a], ladder.services[b])
    gap = told.gap(*(ends if verdict == SLOWER else reversed(ends)))
    if gap is None:
        return ""
    if told.ranking.metric is Metric.CPU:
        much, subject = f"needs {gap.much_cpu} {CPU} ({gap.interval})", SLOWER
    else:
        words = gap.much(REQUESTS).removesuffix(" than").removesuffix(" as")
        much, subject = f"served {words} ({gap.interval})", FASTER
    return f"{new} is {verdict} than {old}{': it' if verdict == subject else ', which'} {much}"


def _within(told: Told, ladder: Ladder, steps: Sequence[tuple[int, int]]) -> str:
    """` (at most 1.1 %)`: the farthest that the intervals of these steps reach."""
    gaps = [told.gap(ladder.services[a], ladder.services[b]) for a, b in steps]
    ends = [max(map(abs, gap.bounds)) for gap in gaps if gap is not None and gap.bounds is not None]
    return f" (at most {percent_words(max(ends))})" if len(ends) == len(steps) else ""

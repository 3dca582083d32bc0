"""Releases of one package in words: which steps from one to the next are real, and the one over all of them."""

from __future__ import annotations

from collections.abc import Sequence

from bench.analysis.tables.ladder import Ladder, verdict_of
from bench.analysis.tables.metric import Metric
from bench.core.formats import plural, size
from bench.stats.table_verdicts import FASTER, NO_DIFFERENCE, NOT_ENOUGH, SLOWER
from bench.words.tables.order import CPU, REQUESTS, Order, interval_words, much, much_cpu


def ladder_sentence(told: Order, ladder: Ladder) -> str:
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
        steps = "no other step" if real and not open_ else plural(len(alike), "step")
        shows = "shows" if steps == "no other step" or len(alike) == 1 else "show"
        what = "a difference" if steps == "no other step" else "no difference"
        parts.append(f"{steps} {shows} {what}{_within(told, ladder, alike)}")
    if open_:
        parts.append(f"of {plural(open_, 'step')} there is {NOT_ENOUGH}")
    whole = _step(told, ladder, 0, last) or f"{ladder.versions[last]} and {ladder.versions[0]} cannot be told apart"
    name = f"{ladder.package} from {ladder.versions[0]} to {ladder.versions[last]}"
    return f"{name}: {'; '.join([*parts, f'in all, {whole}'])}"


def _step(told: Order, ladder: Ladder, a: int, b: int) -> str:
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
        more, subject = f"needs {much_cpu(gap)} {CPU} ({interval_words(gap)})", SLOWER
    else:
        requests = much(gap, REQUESTS).removesuffix(" than").removesuffix(" as")
        more, subject = f"served {requests} ({interval_words(gap)})", FASTER
    return f"{new} is {verdict} than {old}{': it' if verdict == subject else ', which'} {more}"


def _within(told: Order, ladder: Ladder, steps: Sequence[tuple[int, int]]) -> str:
    """` (at most 1.1 %)`: the farthest that the intervals of these steps reach."""
    most = told.farthest((ladder.services[a], ladder.services[b]) for a, b in steps)
    return "" if most is None else f" (at most {size(most)})"

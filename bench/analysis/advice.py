"""What would help where a run left something undecided: one line each, none if everything has its answer. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.analysis.comparison import rounds_words
from bench.analysis.pair_analysis import Judged
from bench.analysis.ranking import Contrast, Ranking
from bench.analysis.verdicts import NOT_ENOUGH
from bench.core.files import items, mapping
from bench.plan.interim_looks import LOOKS
from bench.records.record import MEASURED, Record
from bench.validity.run_rules import noise_limits_of

MOST_ROUNDS = 99
"""That --rounds takes."""
OFTEN = 0.1
"""The share of noisy windows from which a line says so."""


def advice(facts: Mapping[str, Any], judged: Judged, records: Iterable[Record]) -> tuple[str, ...]:
    """The lines; `facts` is run.json, with what was expected before the run began."""
    run = str(facts.get("run") or "RUN")
    lines = [*_of_rankings(judged.rankings, run), *_of_pairs(judged, run)]
    alone = not judged.rankings and not judged.pairs
    if not lines and not alone:
        return ()
    expected = [str(line) for line in items(facts.get("expected"))]
    return tuple(dict.fromkeys([*lines, *expected, *([] if alone else _of_noise(facts, records))]))


def _of_rankings(rankings: Iterable[Ranking], run: str) -> Iterator[str]:
    for ranking in rankings:
        name = " ".join(ranking.table)
        open_ones = [one for one in ranking.contrasts if one.verdict == NOT_ENOUGH]
        if ranking.look is None:
            if ranking.rounds < ranking.looks[0]:
                yield (
                    f"{name}: {rounds_words(ranking.rounds)} of the {ranking.looks[0]} before the first look;"
                    f" scripts/matrix.sh --resume {run} goes on."
                )
        elif open_ones and ranking.rounds < ranking.looks[-1]:
            yield (
                f"{name}: {_count(open_ones, ranking)} no verdict after {rounds_words(ranking.look)};"
                f" scripts/matrix.sh --resume {run} goes on to {ranking.looks[-1]}."
            )
        elif open_ones:
            yield f"{name}: {_count(open_ones, ranking)} no verdict; {_rounds_for(open_ones, ranking.look)}."


def _count(open_ones: Sequence[Contrast], ranking: Ranking) -> str:
    have = "has" if len(open_ones) == 1 else "have"
    return f"{len(open_ones)} of {len(ranking.contrasts)} differences {have}"


def _rounds_for(open_ones: Sequence[Contrast], look: int) -> str:
    totals = sorted(look + one.more_rounds for one in open_ones if one.more_rounds is not None)
    reachable = [total for total in totals if total <= MOST_ROUNDS]
    if not reachable:
        return "these services are too close for this machine; more rounds would hardly help"
    if len(reachable) == len(open_ones):
        return f"--rounds {reachable[-1]} would most probably decide {'it' if len(open_ones) == 1 else 'all of them'}"
    return f"--rounds {reachable[-1]} would most probably decide {len(reachable)} of them, and the others are too close"


def _of_pairs(judged: Judged, run: str) -> Iterator[str]:
    open_ones = [found for found in judged.verdicts if found.word == NOT_ENOUGH]
    if open_ones:
        have = "has" if len(open_ones) == 1 else "have"
        words = f"{len(open_ones)} of {len(judged.verdicts)} pairs {have} no verdict"
        if any(found.rounds < LOOKS[-1] for found in open_ones):
            yield f"{words}; scripts/matrix.sh --resume {run} goes on, up to {LOOKS[-1]} rounds."
        else:
            yield f"{words} after {LOOKS[-1]} rounds: they are too close for this machine."


def _of_noise(facts: Mapping[str, Any], records: Iterable[Record]) -> Iterator[str]:
    """Not of pairs: there each side is foreign to the other."""
    limits = noise_limits_of(mapping(facts.get("knobs")))
    seen = [record for record in records if record.mode in ("turns", "solo") and record.outcome == MEASURED]
    noisy = sum((r.steal_ratio or 0) > limits.steal or (r.foreign_ratio or 0) > limits.foreign for r in seen)
    if noisy > OFTEN * len(seen):
        yield (
            f"Other programs or the hypervisor took CPU in {noisy} of {len(seen)} windows, so that intervals are"
            " wider; a quieter machine would help."
        )

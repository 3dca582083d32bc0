"""What would help where a run left something undecided: one line each, none if everything has its answer. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.analysis.cells.bound_tools import BoundTool, bound_tools
from bench.analysis.tables.planned import tables_of
from bench.analysis.tables.ranking import Contrast, Ranking
from bench.core.files import items, mapping
from bench.core.formats import MOST_NAMES, listed, plural
from bench.records.record import MEASURED, Record
from bench.stats.table_verdicts import NOT_ENOUGH
from bench.validity.bound_cells import BOUND_AFTER
from bench.validity.run_rules import noise_limits_of

MOST_ROUNDS = 99
"""That --rounds takes."""
NOISY = 0.1
"""If only differences larger than this would have been seen, noise is why one has no verdict."""
OFTEN = 0.1
"""The share of noisy windows from which a line says so."""


def advice(facts: Mapping[str, Any], rankings: Sequence[Ranking], records: Iterable[Record]) -> tuple[str, ...]:
    """The lines; `facts` is run.json, with what was expected before the run began."""
    every = list(records)
    bound = tuple(map(_of_bound, bound_tools(every)))
    run = str(facts.get("run") or "RUN")
    lines = [*_of_rankings(rankings, run, {table.key: table.rounds for table in tables_of(facts)})]
    if not lines and rankings:
        return bound
    expected = [str(line) for line in items(facts.get("expected"))]
    return tuple(dict.fromkeys([*lines, *expected, *(_of_noise(facts, every) if rankings else ()), *bound]))


def _of_rankings(rankings: Iterable[Ranking], run: str, planned: Mapping[tuple[str, str, str], int]) -> Iterator[str]:
    """`planned` are the rounds of each table."""
    early: list[Ranking] = []
    cut: list[Ranking] = []
    done: list[Ranking] = []
    for ranking in rankings:
        if ranking.look is None:
            early += (
                [ranking]
                if ranking.rounds < min(ranking.looks[0], planned.get(ranking.table, ranking.looks[0]))
                else []
            )
        elif _open(ranking):
            (cut if ranking.rounds < ranking.looks[-1] else done).append(ranking)
    if early:
        rounds, first = min(one.rounds for one in early), early[0].looks[0]
        yield (
            f"{_name(early)}: {plural(rounds, 'round')} of the {first} before the first look;"
            f" scripts/matrix.sh --resume {run} goes on."
        )
    if cut:
        rounds, last = min(one.rounds for one in cut), cut[0].looks[-1]
        yield (
            f"{_name(cut)}: {_count(cut)} no verdict after {plural(rounds, 'round')};"
            f" scripts/matrix.sh --resume {run} goes on to {last}."
        )
    if done:
        yield f"{_name(done)}: {_count(done)} no verdict; {_rounds_for(done)}."


def _open(ranking: Ranking) -> list[Contrast]:
    return [one for one in ranking.contrasts if one.verdict == NOT_ENOUGH]


def _name(rankings: Sequence[Ranking]) -> str:
    return " ".join(rankings[0].table) if len(rankings) == 1 else f"{len(rankings)} tables"


def _count(rankings: Sequence[Ranking]) -> str:
    count = sum(len(_open(one)) for one in rankings)
    return f"{count} of {sum(len(one.contrasts) for one in rankings)} differences {'has' if count == 1 else 'have'}"


def _rounds_for(rankings: Sequence[Ranking]) -> str:
    """How many rounds would decide what is open; where no number of them would, whether noise or closeness is why."""
    every = [(one, (ranking.look or 0)) for ranking in rankings for one in _open(ranking)]
    totals = sorted(look + one.more_rounds for one, look in every if one.more_rounds is not None)
    reachable = [total for total in totals if total <= MOST_ROUNDS]
    rest = len(every) - len(reachable)
    why = _why_open(one for one, look in every if one.more_rounds is None or look + one.more_rounds > MOST_ROUNDS)
    if not reachable:
        return f"more rounds would hardly help: {'it' if rest == 1 else 'each'} {why}"
    rounds = f"--rounds {reachable[-1]} would most likely settle"
    if not rest:
        return f"{rounds} {'it' if len(every) == 1 else 'all of them'}"
    return f"{rounds} {len(reachable)} of them; the rest {why}"


def _why_open(left: Iterable[Contrast]) -> str:
    """Why the most rounds would not call these."""
    biased, others = 0, list[Contrast]()
    for one in left:
        if one.systematic and one.more_rounds is None:
            biased += 1
        else:
            others.append(one)
    noisy = any((one.smallest_visible or 0) - one.systematic > NOISY for one in others)
    why = ["lies within the bias of turns" + (", which --mode solo does not have" * (not others))] * bool(biased)
    return " or ".join([*why, *["needs a quieter machine" if noisy else "is too close to call"] * bool(others)])


def _of_noise(facts: Mapping[str, Any], records: Iterable[Record]) -> Iterator[str]:
    limits = noise_limits_of(mapping(facts.get("knobs")))
    seen = [record for record in records if record.mode in ("turns", "solo") and record.outcome == MEASURED]
    noisy = sum((r.steal_ratio or 0) > limits.steal or (r.foreign_ratio or 0) > limits.foreign for r in seen)
    if noisy > OFTEN * len(seen):
        yield (
            f"Other programs or the hypervisor took CPU in {noisy} of {len(seen)} windows, so that intervals are"
            " wider; a quieter machine would help."
        )


def _of_bound(found: BoundTool) -> str:
    """What a tool could not load, and what would help."""
    them = "them" if len(found.services) > 1 else "it"
    line = f"{found.tool} is the limit for {_services(found.services)}: no requests/s of {them} by {found.tool}"
    line += f", and no more than {BOUND_AFTER} rounds; " if found.ended else "; "
    line += f"{listed(found.others)} could load {them}, and " if found.others else ""
    return f"{line}more CPUs for the load generator (LOADGEN_CPUS) would help."


def _services(services: tuple[str, ...]) -> str:
    return listed(services) if len(services) == MOST_NAMES + 1 else listed(services, MOST_NAMES, MOST_NAMES)

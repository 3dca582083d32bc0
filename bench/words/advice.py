"""What may keep a run from an answer, said before it begins, and what would help where it left something undecided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.cells.cell import BoundTool, bound_tools
from bench.analysis.runs.host_state import HostState
from bench.analysis.tables.planned import tables_of
from bench.analysis.tables.ranking import Contrast, Ranking
from bench.core.files import items, mapping
from bench.core.formats import MOST_NAMES, listed, plural
from bench.records.record import MEASURED, Record
from bench.stats.table_verdicts import NOT_ENOUGH
from bench.validity.run_rules import BOUND_AFTER, noise_limits_of

MOST_BUSY = 0.1
"""Share of all CPUs that other programs may use before a line says so."""
MOST_STEAL = 0.01
SLOW_GOVERNORS = frozenset({"powersave", "conservative"})


@dataclass(frozen=True, slots=True)
class WantedRun:
    """What is to be measured; times in seconds.

    `tables` is how many tables in turns there are, `prepared_s` the time of builds and verification, and
    `first_look_s` that of measuring until the first verdicts are possible, which is after `first_look` rounds; `rounds`
    is how many are planned.
    """

    mode: str
    services: int
    tables: int
    prepared_s: float
    first_look_s: float
    max_time_s: float | None = None
    rounds: int | None = None
    first_look: int = 0


def expectations(host: HostState, wanted: WantedRun) -> tuple[str, ...]:
    """The lines, what keeps the run from any answer first."""
    return (*_of_selection(wanted), *_of_host(host))


def _of_selection(wanted: WantedRun) -> Iterator[str]:
    if wanted.services == 1:
        yield "Only one service is selected: there will be figures, and nothing to compare; select two (--stack A,B)."
    elif wanted.mode == "solo":
        yield (
            "--mode solo measures each service alone: there will be figures, and no verdict on a difference;"
            " without --mode, services are measured in turns and ranked."
        )
    elif not wanted.tables:
        yield (
            "No load of this selection can be compared: there will be figures, and no ranking; add a closed loop,"
            " such as --level 16 with wrk."
        )
    elif wanted.rounds is not None and wanted.rounds < wanted.first_look:
        yield (
            f"--rounds {wanted.rounds} ends before the first verdicts, which come after {wanted.first_look} rounds:"
            f" there will be figures in order, and no ranking; give --rounds {wanted.first_look}."
        )
    elif wanted.max_time_s is not None and wanted.max_time_s < wanted.prepared_s + wanted.first_look_s:
        needed = math.ceil((wanted.prepared_s + wanted.first_look_s) / 60)
        least = max(0.0, wanted.max_time_s - wanted.prepared_s) * wanted.tables / wanted.first_look_s
        early = f"--max-time {wanted.max_time_s / 60:.3g}"
        expected = f"about {needed} min ({wanted.prepared_s / 60:.1f} of them for builds and checks)"
        if least < 1:
            yield (
                f"{early} ends before the first look, which is expected after {expected}: there may be no ranking;"
                f" give --max-time {needed + 1}, or select less."
            )
        else:
            yield (
                f"{early} suffices for the first look at {math.floor(least)} of {wanted.tables} tables, which come"
                f" first; all of them have it after {expected}: give --max-time {needed + 1}, or select less."
            )


def _of_host(host: HostState) -> Iterator[str]:
    if host.cpus == 1:
        yield (
            "There is only one CPU, which load generator and server share: requests/s will be lower than a server can"
            " do, and CPU per request stays comparable; two CPUs would help."
        )
    if host.busy is not None and host.busy > MOST_BUSY:
        yield (
            f"Other programs use {100 * host.busy:.0f} % of the CPUs: intervals will be wider; stop them, or give more"
            " rounds (--rounds)."
        )
    if host.steal is not None and host.steal > MOST_STEAL:
        yield (
            f"The hypervisor takes {100 * host.steal:.0f} % of the CPU time (steal): intervals will be wider; a quieter"
            " hour or machine, or more rounds (--rounds), would help."
        )
    slow = sorted(SLOW_GOVERNORS & set(host.governors))
    if slow:
        yield (
            f"The CPUs' governor is {slow[0]}: their clock follows the load, so intervals may be wider;"
            " `cpupower frequency-set -g performance` would help."
        )
    if host.on_battery:
        yield "The machine runs on battery, so its CPUs may be slowed down under load; plug it in."


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
            first = ranking.looks[0]
            if ranking.rounds < min(first, planned.get(ranking.table, first)):
                early.append(ranking)
        elif _open(ranking):
            (cut if ranking.rounds < ranking.looks[-1] else done).append(ranking)
    if early:
        rounds = min(one.rounds for one in early)
        yield (
            f"{_name(early)}: {plural(rounds, 'round')} of the {early[0].looks[0]} before the first look;"
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
    every = list(left)
    others = [one for one in every if not one.systematic or one.more_rounds is not None]
    noisy = any((one.smallest_visible or 0) - one.systematic > NOISY for one in others)
    why = "needs a quieter machine" if noisy else "is too close to call"
    if len(others) == len(every):
        return why
    bias = "lies within the bias of turns"
    return f"{bias} or {why}" if others else f"{bias}, which --mode solo does not have"


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

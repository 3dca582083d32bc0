"""What a run is expected to end with, said before it begins: one line for whatever may keep it from an answer.

Pure: facts in, lines out. Each line says what is to be expected and what would help; a run without any of it has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bench.analysis.runs.host_state import HostState

MOST_BUSY = 0.1
"""Share of all CPUs that other programs may use before a line says so."""
MOST_STEAL = 0.01
SLOW_GOVERNORS = frozenset({"powersave", "conservative"})


@dataclass(frozen=True, slots=True)
class Wanted:
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


def expectations(host: HostState, wanted: Wanted) -> tuple[str, ...]:
    """The lines, what keeps the run from any answer first."""
    return (*_of_selection(wanted), *_of_host(host))


def _of_selection(wanted: Wanted) -> Iterator[str]:
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

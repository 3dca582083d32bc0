"""How much is answered in time under overload, and which services are slow to recover."""

from __future__ import annotations

from collections.abc import Iterator

from bench.analysis.events import EventCell, EventRow
from bench.core.formats import MOST_NAMES, listed, plural
from bench.core.groups import grouped
from bench.events.overload.cases import OWN_BACKLOG
from bench.words.event_words import (
    BAD,
    GONE,
    QUICK_S,
    EventWords,
    Named,
    Weighted,
    grouped_names,
    percent,
    seconds_of,
    whole,
    with_rounds,
)

LEAST_UNANSWERED = 0.05
"""The smallest share of CPU time that is reported: under overload, requests that are answered take a little longer."""


def _findings(row: EventRow, cells: Named) -> Weighted:
    backlog = " with the server's own backlog" if row.case == OWN_BACKLOG else ""
    goodputs = {name: _goodput_shares(cell) for name, cell in cells.items()}
    worst = sorted(
        (min(shares), name, f"{whole(shares)} %", times) for name, (times, shares) in goodputs.items() if shares
    )
    if worst:
        groups = grouped(worst, lambda one: one[2])
        parts = [f"{much} with {listed([name for _, name, _, _ in own])}" for much, own in groups.items()]
        if len(parts) > MOST_NAMES:
            parts = [*parts[:3], f"{plural(len(parts) - 5, 'share')} in between", *parts[-2:]]
        yield (
            BAD,
            f"At {worst[0][3]} times the capacity{backlog}, this much of it is answered in time: {', '.join(parts)}.",
        )
    times_of = {
        name: back
        for name, cell in cells.items()
        if (back := cell.figures("recovered_s")) and not cell.disturbed and not cell.gone and max(back) > QUICK_S
    }
    late = [(f"{seconds_of(back)} for", name) for name, back in sorted(times_of.items(), key=lambda one: -max(one[1]))]
    silent = [with_rounds(name, cell.gone, cell) for name, cell in cells.items() if cell.gone]
    never = [with_rounds(name, cell.disturbed, cell) for name, cell in cells.items() if cell.disturbed]
    if silent:
        yield GONE, f"After an overload{backlog}, no good response by the end of the window: {listed(silent)}."
    if never:
        yield BAD, f"After an overload{backlog}, p99 is not back to normal by the end of the window: {listed(never)}."
    if late:
        yield BAD, f"Time until p99 is back to normal after an overload{backlog}: {grouped_names(late)}."


def _goodput_shares(cell: EventCell) -> tuple[str, list[float]]:
    """(the highest rate as a multiple of the capacity, percent of the capacity answered in time, for each round)."""
    rates = {name: cell.figures(name) for one in cell.counted[:1] for name in one.extras if name.startswith("rate_")}
    if not rates:
        return "", []
    worst = max(rates, key=lambda name: max(rates[name])).removeprefix("rate_")
    pairs = zip(cell.figures(f"goodput_{worst}"), cell.figures("capacity"), strict=False)
    return worst.partition("_")[2].removesuffix("x"), [100 * some / most for some, most in pairs if most]


def _details(cell: EventCell) -> Iterator[str]:
    times, shares = _goodput_shares(cell)
    if shares:
        yield f"answers {whole(shares)} % of its capacity in time at {times} times the capacity"
    if (spent := cell.figures("cpu_unanswered")) and max(spent) >= LEAST_UNANSWERED:
        share = percent([max(0.0, one) for one in spent])
        yield f"spends {share} of its CPU time on requests that it does not answer in time"
    if back := cell.figures("recovered_s") if times else []:
        yield f"back to normal {seconds_of(back)} later"


WORDS = EventWords(subject="an overload of {}", decides="backlog", findings=_findings, details=_details)

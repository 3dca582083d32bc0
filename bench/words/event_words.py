"""What is said of an event otherwise than of others, and what their words share."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.analysis.events import EventCell, EventRow
from bench.core import formats
from bench.core.formats import MOST_NAMES, listed
from bench.core.groups import grouped
from bench.events import of_event
from bench.plan.event import EventCase

GONE, LOST, GREW, BAD, OPEN, KNOWN = range(6)
"""How much a finding matters, most important first: a service never came back; it loses requests; its memory grows;
something else fails; few requests are lost, without a verdict; good to know."""
FEW = 0.01
"""Below this share of requests, losses without a verdict are few."""
QUICK_S = 1.0
DOCKER_S = 10.0
"""How long after SIGTERM Docker kills a container that is still running."""
Named = Mapping[str, EventCell]
"""Cells by the label of their service."""
Weighted = Iterable[tuple[int, str]]
"""Sentences, each after its weight."""


@dataclass(frozen=True, slots=True)
class CellWords:
    """`head`: the count or the verdict. `more`: details. `mark`: good, bad, or empty if neither applies."""

    head: str
    more: tuple[str, ...] = ()
    mark: str = ""

    def line(self) -> str:
        """Everything on one line."""
        return "; ".join((self.head, *self.more))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventWords:
    """What is said of an event otherwise than of others.

    Of its losses:

    - `subject`: the event as the subject of a sentence, with `{}` for the service and `{case}` for the case, which
      otherwise follows; empty: its name. `cases`: cases in other words.
    - `lost`: what is lost, if not requests of any kind; `counted`: the same beside a count, if it differs.
    - `none_lost`: that nothing is lost, with what (`in_list`, with `{case}`; by default its name) and of how many.
    - `reliefs`: for a case, the case that shows a remedy, and the remedy.
    - `outage`: when the service does not answer for a time; empty: no sentence says it. `outages`: with what else, by
      case.
    - `decides`: the kind of default on which it depends what the event costs.

    Of its figures:

    - `findings` of the cells of a row; `of_rows`: of all of its rows; `advice`: what would make its answer clearer.
    - `head`: a cell, if losses are not its point; `short`: the same in a few characters, empty if unknown.
    - `details`: figures beside the losses of a cell.
    - `verdict`: its figures over all rounds, for verdicts.jsonl.
    """

    subject: str = ""
    cases: Mapping[EventCase, str] = field(default_factory=dict)
    lost: str = "requests"
    counted: str = ""
    none_lost: str = "No requests are lost under {} (0 of {:,})."
    in_list: str = ""
    reliefs: Mapping[EventCase, tuple[EventCase, str]] = field(default_factory=dict)
    outage: str = ""
    outages: Mapping[EventCase, str] = field(default_factory=dict)
    decides: str = ""
    findings: Callable[[EventRow, Named], Weighted] = lambda row, cells: ()
    of_rows: Callable[[Sequence[tuple[EventRow, Named]]], Weighted] = lambda rows: ()
    advice: Callable[[Sequence[tuple[EventRow, Named]]], Iterable[str]] = lambda rows: ()
    head: Callable[[EventCell], CellWords] | None = None
    short: Callable[[EventCell], str] | None = None
    details: Callable[[EventCell], Iterable[str]] = lambda cell: ()
    verdict: Callable[[EventCell], Mapping[str, Any]] = lambda cell: {}

    def case(self, case: EventCase) -> str:
        """A case in words."""
        return self.cases.get(case, case.text)


SHARED = EventWords()


def texts_of(module: str) -> dict[str, Any]:
    """The fields of `EventWords` that are texts, from the words.toml beside this module."""
    texts = tomllib.loads(Path(module).with_name("words.toml").read_text(encoding="utf-8"))
    for name in ("cases", "outages"):
        texts[name] = {EventCase(case): text for case, text in texts.get(name, {}).items()}
    reliefs = texts.get("reliefs", {}).items()
    return texts | {"reliefs": {EventCase(case): (EventCase(other), remedy) for case, (other, remedy) in reliefs}}


def words_of(event: str) -> EventWords:
    """What is said of this event otherwise than of others."""
    return of_event(event, "words", SHARED)


def in_rounds(some: int, rounds: int) -> str:
    """` in 1 of 3 rounds`; empty if it is all of them."""
    return f" in {some} of {rounds} rounds" if some < rounds else ""


def with_rounds(name: str, rounds: int, cell: EventCell) -> str:
    """`gunicorn (in 1 of 3 rounds)`; the name alone if it is all of them."""
    words = in_rounds(rounds, len(cell.counted)).strip()
    return f"{name} ({words})" if words else name


def once(cells: Named) -> str:
    """`, in one round` unless a service has more: it may differ in the next one."""
    return "" if any(len(cell.counted) > 1 for cell in cells.values()) else ", in one round"


def span(values: Sequence[float], write: Callable[[float], str]) -> str:
    """`3 to 7`, or a single value if both ends read the same."""
    return formats.span(write(min(values)), write(max(values)))


def seconds_words(value: float) -> str:
    """`5`, `2.1`, `0.05`: as precise as it needs to be beside a count."""
    return f"{round(value, 1 if value >= 1 else 2):g}"


def seconds_of(values: Sequence[float]) -> str:
    """`1.2 to 5 s`."""
    return f"{span(values, seconds_words)} s"


def whole(values: Sequence[float]) -> str:
    """`3 to 1,200`."""
    return span(values, lambda value: f"{value:,.0f}")


def percent(shares: Sequence[float]) -> str:
    """`70 to 73 %`."""
    return f"{whole([100 * share for share in shares])} %"


def with_noun(values: Sequence[float], noun: str) -> str:
    """`4 to 16 slow connections`, `1 worker`."""
    return f"{whole(values)} {noun}{'' if max(values) == 1 else 's'}"


def largest_first(values: Mapping[str, float]) -> list[tuple[str, float]]:
    """Figures by the name of their service, in this order."""
    return sorted(values.items(), key=lambda pair: -pair[1])


def grouped_names(words: Iterable[tuple[str, str]]) -> str:
    """`5 s for a and c, 2 s for b`, from pairs of (what, service); of many groups, the first ones: `and 7 more`."""
    groups = [*grouped(words, lambda pair: pair[0]).items()]
    shown = groups if len(groups) <= MOST_NAMES else groups[: MOST_NAMES - 2]
    rest = sum(len(own) for _, own in groups[len(shown) :])
    text = ", ".join(f"{what} {listed([name for _, name in own])}" for what, own in shown)
    return f"{text} and {rest} more" if rest else text


def limits(cells: Named, fails: tuple[str, str], holds: tuple[str, str]) -> tuple[str, str]:
    """(which services fail, the lowest limit first; which ones withstand the largest load tried).

    `fails`, `holds`: the name of a figure, and a template for its sentence.
    """
    failing = {name: found for name, cell in cells.items() if (found := cell.figures(fails[0]))}
    some = sorted(failing, key=lambda name: min(failing[name]))
    return grouped_names(
        (fails[1].format(whole(failing[name])), with_rounds(name, len(failing[name]), cells[name])) for name in some
    ), grouped_names(
        (holds[1].format(whole(found)), name)
        for name, cell in cells.items()
        if name not in failing and (found := cell.figures(holds[0]))
    )


def ended(subject: str, cells: Named) -> Iterator[tuple[int, str]]:
    """Which servers end as a whole, and stay down."""
    ends = [with_rounds(name, len(found), cell) for name, cell in cells.items() if (found := cell.figures("ended_s"))]
    if ends:
        yield GONE, f"{subject} takes down the whole server of {listed(ends)}."


def under_way(cell: EventCell) -> Iterator[str]:
    """How many requests in flight at a signal were lost."""
    if some := sum(cell.figures("under_way")):
        yield f"{sum(cell.figures('under_way_lost')):,.0f} of {some:,.0f} requests in flight lost"


def late_exits(cells: Named) -> Weighted:
    """Which services exit too late after SIGTERM for Docker."""
    exits = {name: cell.figures("exit_s") for name, cell in cells.items()}
    late = [f"{name} (exits after {seconds_of(own)})" for name, own in exits.items() if own and max(own) > DOCKER_S]
    if late := late + [f"{name} (has not exited)" for name, own in exits.items() if not own]:
        yield BAD, f"Docker would kill {listed(late)}: its default grace period is {DOCKER_S:.0f} s."


def timeout_of_needing(cell: EventCell) -> str:
    """The client's timeout of requests that need a dependency, which is not that of the others."""
    found = cell.figures("needs_timeout_s")
    return f" (client timeout {seconds_of(found)})" if found else ""

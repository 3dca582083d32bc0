"""Findings on a run's events: a sentence each, the most important first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bench.analysis.events import NOT_OF_LOSSES, EventCell, EventRow, EventTable, Kind
from bench.core.formats import MOST_NAMES, capital, listed, milliseconds, number, plural
from bench.core.groups import grouped
from bench.plan.event import SLOWER_S, Question
from bench.plan.events import EVENTS
from bench.plan.events.dependencies import AFTER_S
from bench.plan.events.growth import RELOADS
from bench.plan.events.processes import NEVER
from bench.plan.events.proxies import IDLE_OF_PROXIES
from bench.records.event import Fate
from bench.stats.even_shares import UNEVEN
from bench.stats.event_counts import GROWS, STEADY, share
from bench.words.event_cells import (
    GAP_S,
    NOT_KEPT_S,
    even_p99,
    goodput_shares,
    growth_of,
    growth_words,
    in_rounds,
    kept_s,
    restored,
    seconds_of,
    seconds_words,
    span,
    whole,
)
from bench.words.event_losses import (
    CASES,
    Labels,
    counted_in,
    loss_sentences,
    relief_of,
    relief_words,
)

GONE, LOST, GREW, BAD, OPEN, KNOWN = range(6)
"""How much a finding matters, most important first: a service never came back; it loses requests; its memory grows;
something else fails; few requests are lost, without a verdict; good to know."""
FEW = 0.01
"""Below this share of requests, losses without a verdict are few."""
OTHERWISE = frozenset({"overload", "slow", "idle-close", "exhausted"})
"""Events designed to lose requests: other sentences say what they show, and who loses more comes last."""
DOCKER_S = 10.0
"""How long after SIGTERM Docker kills a container that is still running."""
QUICK_S = 1.0
SEVERAL = "Several events"
Named = Mapping[str, EventCell]
"""Cells by the label of their service."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence and its weight, one of GONE to KNOWN."""

    event: str
    weight: int
    words: str


def ordered_findings(table: EventTable, labels: Labels) -> list[Finding]:
    """What goes wrong, then the rest: the first finding of each event and weight, then the second ones, and so on."""
    findings, seen = [*_findings(table, labels)], Counter[tuple[str, int]]()
    places = []
    for finding in findings:
        key = finding.event, finding.weight
        places.append((finding.weight >= OPEN, seen[key], finding.weight))
        seen[key] += 1
    order = sorted(range(len(findings)), key=lambda place: (places[place], place))
    return [findings[place] for place in order]


def by_question(findings: Iterable[Finding]) -> dict[str, tuple[str, ...]]:
    """The sentences by the question that their event answers; those on several events come first."""
    groups = grouped(findings, lambda one: str(EVENTS[one.event].question) if one.event in EVENTS else SEVERAL)
    order = (SEVERAL, *Question)
    return {str(name): tuple(one.words for one in groups[name]) for name in order if name in groups}


def _findings(table: EventTable, labels: Labels) -> Iterator[Finding]:
    yield from (Finding("", GONE, words) for words in _gone(table, labels))
    for event, rows in grouped(table.rows, lambda row: row.event).items():
        for row in rows if event not in NOT_OF_LOSSES else ():
            if event not in OTHERWISE or row.differing or row.apart:
                weight = _weight_of_losses(row)
                yield from (Finding(event, weight, words) for words in loss_sentences(row, rows, labels))
        named = [(row, {labels[name]: cell for name, cell in counted_in(row).items()}) for row in rows]
        for row, cells in named if event in _OF else ():
            yield from (Finding(event, weight, words) for weight, words in _OF[event](row, cells))
        yield from (Finding(event, BAD, words) for words in _unseen(rows, labels))
        if silent := _silence(event, named):
            yield Finding(event, BAD, silent)
        if event == "recycle" and (slower := _slower_while_recycled(named)):
            yield Finding(event, BAD, slower)
    yield from (Finding("", KNOWN, words) for words in _nothing_lost(table))


def _weight_of_losses(row: EventRow) -> int:
    if row.event in OTHERWISE:
        return KNOWN
    cells = counted_in(row).values()
    few = all(share(cell.counts) < FEW for cell in cells)
    return OPEN if few and len(cells) > 1 and not (row.differing or row.apart) else LOST


def _gone(table: EventTable, labels: Labels) -> Iterator[str]:
    """Which services never came back, and after which events; `_ended` says which whole servers ended.

    An overload leaves a queue of requests that nobody waits for any more: it may only need longer than the window.
    """
    gone: dict[str, list[str]] = {}
    ended = False
    for row in table.rows:
        for name, cell in row.cells.items() if row.event not in NOT_OF_LOSSES | {"overload"} else ():
            ended |= bool(cell.figures("ended_s"))
            if cell.gone > len(cell.figures("ended_s")):
                gone.setdefault(labels[name], []).append(_plain(row) + in_rounds(cell.gone, len(cell.counted)))
    if gone:
        aside = ", besides servers that ended as a whole" if ended else ""
        yield f"Never came back{aside}: {listed([f'{name} ({listed(own)})' for name, own in gone.items()])}."


def _nothing_lost(table: EventTable) -> Iterator[str]:
    """The events in which no service lost a request."""
    reliefs = [relief_of(row, table.rows) for row in table.rows if relief_words(row, table.rows)]
    rows = [row for row in table.rows if row.event not in NOT_OF_LOSSES | OTHERWISE | {"balance"} and counted_in(row)]
    none = [row for row in rows if row not in reliefs and not any(cell.lost for cell in counted_in(row).values())]
    for away, group in grouped(none, lambda row: row.event == "away").items():
        sent = sum(cell.sent for row in group for cell in counted_in(row).values())
        if away:
            names = listed([f"the {row.case}" for row in group])
            yield f"With {names}, requests that do not need it are all answered (0 of {sent:,} lost)."
        else:
            yield f"No requests are lost under {listed([_plain(row) for row in group])} (0 of {sent:,})."


def _plain(row: EventRow) -> str:
    """Its name without commas, for a list."""
    return row.name.replace(", ", " ")


def _unseen(rows: Sequence[EventRow], labels: Labels) -> Iterator[str]:
    """What was triggered but had no effect."""
    without_effect: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        unseen = [(cell.reason, labels[name]) for name, cell in row.cells.items() if cell.kind is Kind.UNSEEN]
        for reason, own in grouped(unseen, lambda one: one[0]).items():
            without_effect.setdefault((reason, listed([label for _, label in own])), []).append(row.name)
    for (reason, services), names in without_effect.items():
        name = names[0].replace(", ", " ") if len(names) == 1 else f"{rows[0].event} in {len(names)} cases"
        yield f"{capital(name)} had no effect on {services} ({reason})."


def _silence(event: str, rows: Iterable[tuple[EventRow, Named]]) -> str:
    """The longest time without a good answer after something was done to processes; empty if that was short."""
    parts, of_processes = [], rows if event in _OUTAGES else ()
    for boot, own in grouped(of_processes, lambda one: one[0].case.boot_s).items():
        longest: dict[str, float] = {}
        for _, cells in own:
            for name, cell in cells.items():
                if cell.gap_s is not None and cell.gap_s >= GAP_S and not cell.gone:
                    longest[name] = max(cell.gap_s, longest.get(name, 0.0))
        if words := _grouped_names((f"{seconds_words(gap)} s for", name) for name, gap in _most(longest)):
            parts.append(f" with a boot of {boot:g} s: {words}" if boot else f": {words}")
    return f"Longest outage {_OUTAGES[event]}{';'.join(parts)}." if parts else ""


def _slower_while_recycled(rows: Iterable[tuple[EventRow, Named]]) -> str:
    """By how much p99 is higher in every round with recycled workers than in all rounds without; empty if by little."""
    p99s = {
        row.case == NEVER: {name: cell.figures("p99_around_s") for name, cell in cells.items()} for row, cells in rows
    }
    slower = list[tuple[float, str]]()
    for name, slow in p99s.get(False, {}).items():
        quick = p99s.get(True, {}).get(name)
        if slow and quick and min(slow) > max(quick) + SLOWER_S:
            slower.append((max(slow), f"{span(slow, milliseconds)} instead of {span(quick, milliseconds)} with {name}"))
    words = [one for _, one in sorted(slower, reverse=True)]
    return f"While workers are recycled, p99 is {listed(words)}." if words else ""


_OUTAGES: Mapping[str, str] = {
    "reload": "after a reload",
    "rolling": "in a rolling restart",
    "killed": "after a worker was killed",
    "hung": "after a worker hung",
}


def _most(values: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda one: -one[1])


def _grouped_names(words: Iterable[tuple[str, str]]) -> str:
    """`5 s for a and c, 2 s for b`, from pairs of (what, service); of many groups, the first ones: `and 7 more`."""
    groups = [*grouped(words, _first).items()]
    shown = groups if len(groups) <= MOST_NAMES else groups[: MOST_NAMES - 2]
    rest = sum(len(own) for _, own in groups[len(shown) :])
    text = ", ".join(f"{what} {listed([name for _, name in own])}" for what, own in shown)
    return f"{text} and {rest} more" if rest else text


def _first(pair: tuple[str, str]) -> str:
    return pair[0]


def _some(name: str, rounds: int, cell: EventCell) -> str:
    """`gunicorn (in 1 of 3 rounds)`; the name alone if it is all of them."""
    words = in_rounds(rounds, len(cell.counted)).strip()
    return f"{name} ({words})" if words else name


Told = Iterator[tuple[int, str]]


def _stop(_: EventRow, cells: Named) -> Told:
    """What happens to a response that takes 5 s, and which servers exit too late for Docker."""
    by_fate: dict[bool, list[str]] = {}
    for name, cell in cells.items():
        fates = {fate == Fate.ANSWERED for fate in cell.values("long_fate") if fate}
        if len(fates) == 1:
            after = cell.figures("exit_s")
            by_fate.setdefault(fates.pop(), []).append(f"{name} (exits after {seconds_of(after)})" if after else name)
    parts = [f"{listed(own)} {verb}{end * (len(own) == 1)}" for fate, verb, end in _ENDS if (own := by_fate.get(fate))]
    if parts:
        first, *others = parts
        rest = f"; {others[0]} it" if others else ""
        yield BAD if False in by_fate else KNOWN, f"On SIGTERM, {first} a response that takes 5 s{rest}."
    exits = {name: cell.figures("exit_s") for name, cell in cells.items()}
    late = [f"{name} (exits after {seconds_of(own)})" for name, own in exits.items() if own and max(own) > DOCKER_S]
    if late := late + [f"{name} (has not exited)" for name, own in exits.items() if not own]:
        yield BAD, f"Docker would kill {listed(late)}: its default grace period is {DOCKER_S:.0f} s."


_ENDS = ((False, "abort", "s"), (True, "finish", "es"))
"""(whether the response was answered, a verb, its ending for a single server)."""


def _ended(row: EventRow, cells: Named) -> Told:
    """Which servers end as a whole, and stay down."""
    ends = [_some(name, len(found), cell) for name, cell in cells.items() if (found := cell.figures("ended_s"))]
    if ends:
        subject = f"A reload ({row.case})" if row.event == "reload" else f"One {row.event} worker"
        yield GONE, f"{subject} takes down the whole server of {listed(ends)}."


def _worker(row: EventRow, cells: Named) -> Told:
    """Whether a worker is replaced."""
    yield from _ended(row, cells)
    words, never = list[tuple[str, str]](), list[str]()
    for name, cell in cells.items():
        again = restored(cell)
        if cell.figures("ended_s"):
            continue
        if len(again) < len(cell.counted):
            never.append(_some(name, len(cell.counted) - len(again), cell))
        else:
            quick = max(again) <= QUICK_S
            words.append((f"within {QUICK_S:g} s by" if quick else f"after {seconds_of(again)} by", name))
    if never:
        yield BAD, f"A {row.event} worker is not replaced by {listed(never)}."
    if words:
        slow = any(not what.startswith("within") for what, _ in words)
        yield BAD if slow else KNOWN, f"A {row.event} worker is replaced {_grouped_names(words)}."


def _overload(row: EventRow, cells: Named) -> Told:
    """How much is answered in time under overload, and which services are slow to recover."""
    backlog = " with the server's own backlog" if row.case.own_backlog else ""
    goodputs = {name: goodput_shares(cell) for name, cell in cells.items()}
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
    silent = [_some(name, cell.gone, cell) for name, cell in cells.items() if cell.gone]
    never = [_some(name, cell.disturbed, cell) for name, cell in cells.items() if cell.disturbed]
    if silent:
        yield GONE, f"After an overload{backlog}, no good response by the end of the window: {listed(silent)}."
    if never:
        yield BAD, f"After an overload{backlog}, p99 is not back to normal by the end of the window: {listed(never)}."
    if late:
        yield BAD, f"Time until p99 is back to normal after an overload{backlog}: {_grouped_names(late)}."


def _limits(cells: Named, fails: tuple[str, str], holds: tuple[str, str]) -> tuple[str, str]:
    """(which services fail, the lowest limit first; which ones withstand the largest load tried).

    `fails`, `holds`: the name of a figure, and a template for its sentence.
    """
    failing = {name: found for name, cell in cells.items() if (found := cell.figures(fails[0]))}
    some = sorted(failing, key=lambda name: min(failing[name]))
    return _grouped_names(
        (fails[1].format(whole(failing[name])), _some(name, len(failing[name]), cells[name])) for name in some
    ), _grouped_names(
        (holds[1].format(whole(found)), name)
        for name, cell in cells.items()
        if name not in failing and (found := cell.figures(holds[0]))
    )


def _slow(row: EventRow, cells: Named) -> Told:
    """How few slow connections block which servers."""
    fails, holds = _limits(cells, ("smallest_k", "{} for"), ("most_k", "more than {} for"))
    closed = _grouped_names(
        (f"after {seconds_of(found)} by", name)
        for name, cell in cells.items()
        if (found := cell.figures("cut_after_s"))
    )
    words, needed = f"Slow connections ({row.case})", ", ".join(filter(None, (fails, holds)))
    if needed:
        words += f" needed to block a server: {needed}"
    if closed:
        words += f"{'; they' if needed else ''} are closed {closed}"
    if needed or closed:
        yield BAD if fails else KNOWN, f"{words}."


def _connections(row: EventRow, cells: Named) -> Told:
    """The memory of an idle connection, and which servers refuse connections."""
    counts = {name: [sum(cell.figures(one)) for one in ("slow_refused", "opened")] for name, cell in cells.items()}
    parts = [f"{refused:,.0f} of {opened:,.0f} by {name}" for name, (refused, opened) in counts.items() if refused]
    if parts:
        yield BAD, f"Connections are refused ({row.case}): {listed(parts)}."
    sizes = {name: max(found) for name, cell in cells.items() if (found := cell.figures("kb_per_connection"))}
    if sizes:
        parts = [f"{number(size)} KB with {name}" for name, size in _most(sizes)]
        yield KNOWN, f"A connection takes {listed(parts)} ({row.case})."


def _once(cells: Named) -> str:
    """`, in one round` unless a service has more: it may differ in the next one."""
    return "" if any(len(cell.counted) > 1 for cell in cells.values()) else ", in one round"


def _memory(row: EventRow, cells: Named) -> Told:
    """Whose memory grows, and whose does not."""
    grows = {name: growth_words(cell) for name, cell in cells.items() if growth_of(cell).word == GROWS}
    steady = [name + _how_reloads_went(cell) for name, cell in cells.items() if growth_of(cell).word == STEADY]
    after = f" after {row.case}" if row.case.work == "bodies" else ""
    more, same = f"Memory grows{after}", f"Memory is steady{after}"
    if row.case.work == "reloads":
        more, same = "File descriptors stay open", "File descriptors are steady over reloads"
    parts = [f"{words.head.removeprefix(GROWS).strip()} with {name}" for name, words in grows.items() if words]
    if parts:
        yield GREW, f"{more}: {listed(parts)}{_once(cells)}."
    if steady:
        yield KNOWN, f"{same} with {listed(steady)}{_once(cells)}."


def _how_reloads_went(cell: EventCell) -> str:
    """` (17 of 20 reloads, lost 492 of 713 requests)`; empty if all were done, and hardly any request was lost."""
    if not (done := cell.figures("reloads")):
        return ""
    parts = [f"{whole(done)} of {RELOADS} reloads"] if min(done) < RELOADS else []
    parts += [f"lost {cell.lost:,} of {cell.sent:,} requests"] if share(cell.counts) >= FEW else []
    return f" ({', '.join(parts)})" if parts else ""


def _balance(row: EventRow, cells: Named) -> Told:
    """Where one worker gets more than chance explains, and what that costs."""
    parts, workers, costs = [], list[float](), False
    for name, cell in cells.items():
        if (shares := cell.figures("worst_share")) and cell.p_even <= UNEVEN:
            workers += cell.figures("workers")
            p99, even = cell.figures("p99_s"), even_p99(cell)
            costs |= bool(even) and min(p99) > max(even)
            cost = f" (p99 {span(p99, milliseconds)}, {span(even, milliseconds)} with even shares)" if even else ""
            parts.append(f"{whole([100 * one for one in shares])} % with {name}{cost}")
    if parts:
        yield (
            BAD if costs else KNOWN,
            f"Uneven load ({row.case}): one of {whole(workers)} workers gets {listed(parts)}{_once(cells)}.",
        )


def _exhausted(row: EventRow, cells: Named) -> Told:
    """How many waiting requests make health checks fail."""
    fails, passes = _limits(cells, ("failing_k", "beside {} with"), ("most_waiting", "beside {} with"))
    limits = "; ".join(f"{what} {words}" for what, words in (("fail", fails), ("pass", passes)) if words)
    if limits:
        first, _, rest = limits.partition(" with")
        limits = f"{first} waiting request{'' if first.endswith(' 1') else 's'} with{rest}"
        yield BAD if fails else KNOWN, f"With {CASES.get(row.case, row.case.text)}, health checks {limits}."
    left = {name: max(cell.figures("connections_used_after"), default=0.0) for name, cell in cells.items()}
    if any(left.values()):
        names = listed([f"{name} ({count:.0f})" for name, count in _most(left) if count])
        yield BAD, f"Database connections are still in use after the load: {names}."


def _away(row: EventRow, cells: Named) -> Told:
    """Which services are slow to answer again once a dependency is back."""
    words = []
    for name, cell in cells.items():
        again = cell.figures("again_s")
        if cell.figures("needs_meanwhile") and (missing := len(cell.counted) - len(again)):
            words.append((f"not within {AFTER_S:g} s by", _some(name, missing, cell)))
        elif again and max(again) > QUICK_S:
            words.append((f"after {seconds_of(again)} by", name))
    if words:
        yield (
            BAD,
            f"Once the {row.case.dependency or 'dependency'} is back ({row.case}), requests that need it are answered"
            f" {_grouped_names(words)}.",
        )


def _idle(_: EventRow, cells: Named) -> Told:
    """Which servers close idle connections before a proxy does, by the defaults of both."""
    idle_s = {name: cell.figures("idle_s") for name, cell in cells.items()}
    first = [
        (seconds_of(own), name)
        for name, own in idle_s.items()
        if own and NOT_KEPT_S < min(own) < min(IDLE_OF_PROXIES.values())
    ]
    if first:
        groups = grouped(first, _first).items()
        servers = "; ".join(f"{listed([name for _, name in own])} after {seconds}" for seconds, own in groups)
        yield (
            BAD,
            f"Idle connections are closed by {servers}, sooner than by {_proxies(math.inf)}: a proxy may send a request"
            " on a connection that is just being closed.",
        )
    kept = [(proxies, name) for name, cell in cells.items() if (proxies := _proxies(kept_s(cell)))]
    for proxies, own in grouped(kept, _first).items():
        yield KNOWN, f"Idle connections are kept by {listed([name for _, name in own])} for longer than by {proxies}."


def _proxies(below_s: float) -> str:
    """The proxies that close idle connections sooner, and after how long."""
    return listed([f"{name} ({_duration(own)})" for name, own in IDLE_OF_PROXIES.items() if own < below_s])


def _duration(seconds: float) -> str:
    """`60 s`, `2 min`, `1 h`."""
    if seconds >= HOUR_S:
        return f"{seconds / HOUR_S:g} h"
    return f"{seconds / MINUTE_S:g} min" if seconds > MINUTE_S else f"{seconds:g} s"


HOUR_S, MINUTE_S = 3600, 60
_OF = MappingProxyType(
    {
        "reload": _ended,
        "stop": _stop,
        "killed": _worker,
        "hung": _worker,
        "overload": _overload,
        "slow": _slow,
        "connections": _connections,
        "memory": _memory,
        "balance": _balance,
        "exhausted": _exhausted,
        "away": _away,
        "idle-close": _idle,
    }
)

"""What a run's events show, in words: a cell for each service and event, what differs, what is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.analysis.events import NOT_OF_LOSSES, NULL, EventCell, EventContrast, EventRow, EventTable, Kind, event_table
from bench.analysis.services import coordinates_of, pairs_of, places_of
from bench.core.files import mapping
from bench.core.formats import NOTHING, listed, megabytes, milliseconds, number, plural
from bench.core.groups import grouped
from bench.plan.events.growth import MILLION, RELOADS
from bench.plan.events.proxies import IDLE_MOST_S, IDLE_OF_PROXIES
from bench.records.event import EventRecord, Fate
from bench.stats.even_shares import UNEVEN
from bench.stats.event_counts import GROWS, LEAST_ROUNDS, NOT_ENOUGH, STEADY, Counts, Slope, share
from bench.words.names import labels_of

GAP_S = 0.5
"""A time without a good answer is an outage from here on, and told even if no request was lost in it."""
MOST_EVEN = 1.2
"""Times the even share: more than this to one worker, and shares are not even."""
FATES: Mapping[Fate, str] = {
    Fate.ANSWERED: "answered",
    Fate.REFUSED: "refused",
    Fate.RESET: "reset",
    Fate.TIMED_OUT: "timed out",
    Fate.CUT_SHORT: "cut short",
    Fate.STATUS_503: "answered with 503",
    Fate.OTHER_STATUS: "answered with another status",
    Fate.WRONG: "answered wrongly",
}
SUBJECTS: Mapping[str, str] = {
    "reload": "a reload of {}",
    "rolling": "a rolling restart of {}",
    "stop": "stopping {}",
    "killed": "a killed worker of {}",
    "hung": "a hung worker of {}",
    "overload": "an overload of {}",
    "slow": "slow clients of {}",
    "recycle": "recycling the workers of {}",
    "connections": "idle connections to {}",
    "exhausted": "exhausting {}",
    "away": "{} without a dependency",
    "memory": "the memory of {}",
    "balance": "the shares of workers of {}",
    "idle-close": "using kept connections just when {} closes them",
}
"""Events as the subject of a sentence; others by their name."""
AT_ONCE_S = 0.05
COUNTED = {"exhausted": " health checks", "away": " other requests"}
"""What the counts are of, where there are requests that are counted apart."""
WITH = {"keep-alive": "keep-alive", "new connections": "new connections"}


@dataclass(frozen=True, slots=True)
class CellWords:
    """`head` is the count or the word; `more` what is beside it; `mark`: good, bad, or empty where neither is known."""

    head: str
    more: tuple[str, ...] = ()
    mark: str = ""

    def line(self) -> str:
        """All of it in one line."""
        return "; ".join((self.head, *self.more))


@dataclass(frozen=True, slots=True)
class ToldDefault:
    """What servers do without a flag, and what these services gave them in its place."""

    what: str
    services: str
    value: str
    given: str
    source: str


@dataclass(frozen=True, slots=True)
class ToldRow:
    """A row in words; `differ` says whether its services do."""

    row: EventRow
    name: str
    timeout: str
    cells: Mapping[str, CellWords]
    differ: str


@dataclass(frozen=True, slots=True)
class ToldEvents:
    """The events of a run in words; `documented` is (services, event, what their documentation says)."""

    table: EventTable
    title: str
    labels: Mapping[str, str]
    rows: tuple[ToldRow, ...]
    sentences: tuple[str, ...]
    advice: tuple[str, ...]
    documented: tuple[tuple[str, str, str], ...]
    cannot: tuple[tuple[str, str, str], ...]
    """(services, event, why they have no counts)."""
    defaults: tuple[ToldDefault, ...] = ()

    @property
    def planned(self) -> int:
        """Events in all rounds."""
        return sum(len(cell.records) for cell in self.table.cells)

    @property
    def counted(self) -> int:
        """Those whose counts are compared."""
        return sum(len(cell.counted) for cell in self.table.cells)


def tell_events(records: Sequence[EventRecord], facts: Mapping[str, Any]) -> ToldEvents | None:
    """The events of a run in words; None in a run without any. Pure."""
    if not records:
        return None
    table = event_table(records, pairs_of(facts), [*mapping(facts.get("services"))])
    # Of what a service cannot do, no record says which Python it has.
    known = [one for one in records if one.server and one.service != NULL]
    places = {one.service: coordinates_of(one) for one in known} | places_of(facts, [])
    services = [name for name in table.services if name != NULL]
    short = labels_of(services, places) if len(services) > 1 else {name: one.stack for name, one in places.items()}
    labels = {name: short.get(name, name) for name in services}
    labels[NULL] = "null (nginx)"
    return ToldEvents(
        table,
        _title(table),
        labels,
        tuple(_row(row, table, labels) for row in table.rows),
        (*_sentences(table, labels),),
        (*_advice(table),),
        (*_by_text(((one, one.documented) for one in records), labels),),
        (*_by_text(_reasons(table), labels),),
        (*_defaults(mapping(facts.get("defaults")), labels),),
    )


def cell_words(cell: EventCell) -> CellWords:
    """What a cell says."""
    if cell.kind is not Kind.COUNTED:
        heads = {Kind.CANNOT: "cannot", Kind.FAILED: "failed", Kind.UNSEEN: "did not happen", Kind.REFUSED: "not valid"}
        seen = [one for one in cell.records if one.sent and not one.unaccounted]
        counts = f"lost {sum(one.lost for one in seen):,} of {sum(one.sent or 0 for one in seen):,}, not compared"
        more = [cell.reason] * (cell.kind is not Kind.CANNOT) + [counts] * bool(seen)
        return CellWords(heads[cell.kind], (*more,))
    rounds = len(cell.counted)
    if own := growth_words(cell) or balance_words(cell):
        return _with_losses(own, cell)
    counts = f"lost {cell.lost:,} of {cell.sent:,}{COUNTED.get(cell.counted[0].event, '')}"
    more = [*_figures(cell)]
    if cell.gap_s is not None and cell.gap_s >= GAP_S and not cell.gone:
        more.insert(0, f"no answer for {seconds_words(cell.gap_s)} s")
    if cell.disturbed:
        more.append(f"not as before at the end{_in_rounds(cell.disturbed, rounds)}")
    if left := len(cell.records) - rounds:
        more.append(f"{plural(left, 'round')} not counted: {cell.reason}")
    if cell.gone:
        return CellWords(f"never came back{_in_rounds(cell.gone, rounds)}", (counts, *more), "bad")
    return CellWords(counts, (*more,), "bad" if cell.lost else "good")


def _with_losses(own: CellWords, cell: EventCell) -> CellWords:
    """What such an event says first, what was lost, and which rounds do not count."""
    more = [f"lost {cell.lost:,} of {cell.sent:,}", *own.more]
    if left := len(cell.records) - len(cell.counted):
        more.append(f"{plural(left, 'round')} not counted: {cell.reason}")
    return replace(
        own, more=(*more,), mark="bad" if cell.lost and cell.counted[0].event not in NOT_OF_LOSSES else own.mark
    )


def growth_words(cell: EventCell) -> CellWords | None:
    """`grows 1.2 KB per 1,000 requests`, `steady (-0.1 to 0.3 descriptors a reload)`; None of other events."""
    if cell.counted[0].event != "memory":
        return None
    reloads = bool(cell.figures("reloads"))
    unit, each, times = ("descriptors", "a reload", 1.0) if reloads else ("KB", "per 1,000 requests", 1000 / 1024)
    found = cell.growth or Slope(NOT_ENOUGH)
    words, more = found.word, list[str]()
    if found.mean is not None and found.low is not None and found.high is not None:
        low, mean, high = (signed(one * times) for one in (found.low, found.mean, found.high))
        interval = f"{low} to {high}" if low != high else low
        grows = found.word == GROWS
        words = f"{GROWS} {mean} {unit} {each}" if grows else f"{found.word} ({interval} {unit} {each})"
        more = [f"95 % interval {interval}"] if grows and low != high else []
    return CellWords(words, (*more, *_how_much(cell)), {GROWS: "bad", STEADY: "good"}.get(found.word, ""))


def _how_much(cell: EventCell) -> Iterable[str]:
    """The work behind a slope, and what large bodies leave behind."""
    if reloads := cell.figures("reloads"):
        yield f"{_whole(reloads)} of {RELOADS} reloads"
        return
    asked, seconds = cell.figures("requests"), cell.figures("parts_s")
    if sizes := cell.figures("kept_bytes"):
        grown = cell.figures("grown_bytes")
        kept = _span([max(0.0, one) for one in sizes], megabytes)
        yield f"keeps {kept} of {_span(grown, megabytes)} that large bodies took"
        sent, taken = sum(cell.figures("bodies")), sum(cell.figures("bodies_answered"))
        if taken < sent:
            yield f"{sent - taken:.0f} of {sent:.0f} large bodies not taken"
    elif asked and min(asked) < MILLION:
        yield f"{_whole(asked)} requests of the million in {_whole(seconds)} s"


def signed(value: float) -> str:
    """Two digits that count, `-0.12`; what is nothing has no sign."""
    return f"{value:.2g}" if 0.005 <= abs(value) < 10 else f"{round(value):,}"


def balance_words(cell: EventCell) -> CellWords | None:
    """`71 % to one of 4 workers`, and what that costs; None of other events."""
    if cell.counted[0].event != "balance":
        return None
    workers, worst = cell.figures("workers"), cell.figures("worst_share")
    if not worst:
        return CellWords(f"{NOT_ENOUGH}: responses do not say which worker gave them")
    if max(workers) < 2:
        return CellWords("one worker has all")
    uneven = cell.p_even <= UNEVEN
    more = ["more than chance explains" if uneven else "chance alone could do that"]
    more += [_cost(cell)] if cell.figures("p99_s") else []
    head = f"{_whole([100 * one for one in worst])} % to one of {_whole(workers)} workers"
    return CellWords(head, (*more,), "bad" if uneven else "good")


def _cost(cell: EventCell) -> str:
    """p99 as requests come, and with even shares, where these were had."""
    p99 = f"p99 {_span(cell.figures('p99_s'), milliseconds)}"
    even, shares = cell.figures("even_p99_s"), cell.figures("even_worst_share")
    if not shares:
        return p99
    if max(shares) > MOST_EVEN / max(cell.figures("workers")):
        return f"{p99}; even shares were not to be had"
    return f"{p99}, {_span(even, milliseconds)} with even shares"


def _in_rounds(some: int, rounds: int) -> str:
    return f" in {some} of {rounds} rounds" if some < rounds else ""


def _span(values: Sequence[float], write: Callable[[float], str]) -> str:
    low, high = write(min(values)), write(max(values))
    return low if low == high else f"{low} to {high}"


def seconds_words(value: float) -> str:
    """`5`, `2.1`, `0.05`: what a count beside it needs."""
    return f"{round(value, 1 if value >= 1 else 2):g}"


def _seconds(values: Sequence[float]) -> str:
    return f"{_span(values, seconds_words)} s"


def _whole(values: Sequence[float]) -> str:
    return _span(values, lambda value: f"{value:,.0f}")


FIGURES: Mapping[str, Callable[[list[float]], str]] = {
    "new_code_s": lambda found: f"new code after {_seconds(found)}",
    "exit_s": lambda found: f"exits after {_seconds(found)}",
    "restored_s": lambda found: f"all workers again after {_seconds(found)}",
    "ended_s": lambda _: "the whole server ended",
    "smallest_k": lambda found: f"stopped by {_whole(found)} connections",
    "cut_after_s": lambda found: f"cut after {_seconds(found)}",
    "p99_beside_s": lambda found: f"p99 beside them {_span(found, milliseconds)}",
    "kb_per_connection": lambda found: f"{_span(found, number)} KB per connection",
    "recycled": lambda found: f"{_whole(found)} workers recycled",
}
"""What a cell says beside its counts, by the figure that says it."""


def _figures(cell: EventCell) -> Iterable[str]:
    """What an event counts beside losses."""
    for name, write in FIGURES.items():
        if found := cell.figures(name):
            yield write(found)
    if cell.counted[0].event in ("killed", "hung") and not cell.figures("restored_s") and not cell.gone:
        yield "the worker was not replaced"
    if cell.figures("most_k") and not cell.figures("smallest_k"):
        yield f"not stopped by {_whole(cell.figures('most_k'))} connections"
    fates = [fate for fate in cell.values("long_fate") if fate]
    if fates:
        finished = sum(fate == Fate.ANSWERED for fate in fates)
        yield "the 5 s response " + (
            "finished" if finished == len(fates) else f"cut{_in_rounds(len(fates) - finished, len(fates))}"
        )
    yield from _overload(cell)
    yield from _exhausted(cell)
    yield from _away(cell)
    yield from _behind_proxy(cell)
    yield from _idle(cell)


def _exhausted(cell: EventCell) -> Iterable[str]:
    """How many waiting requests health checks stand, and what becomes of these and of their connections."""
    most, failing = cell.figures("most_waiting"), cell.figures("failing_k")
    if most:
        places = cell.figures("places")
        room = f" ({_whole(places)} are served at once)" if places else ""
        told = f"fail beside {_whole(failing)}" if failing else f"pass beside {_whole(most)}"
        rounds = _in_rounds(len(failing), len(cell.counted)) if failing else ""
        yield f"health checks {told} waiting requests{rounds}{room}"
        if waits := cell.figures("longest_wait_s"):
            yield f"{_whole(most)} wait up to {_seconds(waits)}"
        if lost := sum(cell.figures("needs_lost")):
            yield f"{lost:,.0f} of {sum(cell.figures('needs_sent')):,.0f} waiting requests lost"
    if used := cell.figures("connections_used_after"):
        most_at_once = _whole(cell.figures("connections_most"))
        yield f"{most_at_once} database connections, {_whole(used)} still in use afterwards"


def _away(cell: EventCell) -> Iterable[str]:
    """What becomes of the requests that need what is away."""
    if sent := sum(cell.figures("needs_meanwhile")):
        lost, after = sum(cell.figures("needs_lost_meanwhile")), sum(cell.figures("needs_lost_after"))
        yield f"{lost:,.0f} of {sent:,.0f} that needed it lost"
        again = cell.figures("again_s")
        if again:
            yield f"answers again {'at once' if max(again) < AT_ONCE_S else f'after {_seconds(again)}'}"
        if missing := len(cell.counted) - len(again):
            yield f"does not answer again{_in_rounds(missing, len(cell.counted))}"
        if after:
            yield f"{after:,.0f} lost once it was back"


NOT_KEPT_S = 0.2
"""A server that closes an idle connection sooner keeps none."""


def _idle(cell: EventCell) -> Iterable[str]:
    """When the server closes idle connections, and what requests lose that come just then."""
    if found := cell.figures("idle_s"):
        if max(found) < NOT_KEPT_S:
            yield "closes after each response"
            return
        yield f"closes idle connections after {_seconds(found)}"
        if late := cell.figures("lost_to_ms"):
            yield f"requests are lost until {max(late):.0f} ms after that"
    elif cell.figures("held"):
        yield f"keeps idle connections for more than {IDLE_MOST_S:g} s"


CAUSES: Mapping[str, str] = {
    "no_container": "no container left",
    "refused": "connection refused",
    "unreachable": "no connection in time",
    "closed": "closed before the response",
    "reset": "reset",
    "timed_out": "no response in time",
}
"""Why a proxy's request to a container failed, by bench/records/event_proxy.py."""


def _behind_proxy(cell: EventCell) -> Iterable[str]:
    """How long each swap of a container took, and which bad statuses are whose."""
    both = [one for number in (1, 2) for one in cell.figures(f"swap_{number}_s")]
    if both:
        yield f"each container back after {_seconds(both)}"
    if killed := sum(sum(cell.figures(f"killed_{number}")) for number in (1, 2)):
        yield f"{killed:.0f} of {len(both)} had to be killed"
    names = sorted({name for one in cell.counted for name in one.extras if name.startswith(("proxy_5", "server_5"))})
    for name in names:
        whose, _, status = name.partition("_")
        yield f"{sum(cell.figures(name)):,.0f} times {status} of the {whose} itself"
    causes = {words: sum(cell.figures(f"cause_{name}")) for name, words in CAUSES.items()}
    if names and any(causes.values()):
        yield "failed tries: " + ", ".join(f"{count:,.0f} {words}" for words, count in causes.items() if count)


def _overload(cell: EventCell) -> Iterable[str]:
    """Of the phases, that with the highest rate: what it still answers in time, against what it can."""
    rates = {name: cell.figures(name) for one in cell.counted[:1] for name in one.extras if name.startswith("rate_")}
    if rates:
        worst = max(rates, key=lambda name: max(rates[name])).removeprefix("rate_")
        capacity, good = cell.figures("capacity"), cell.figures(f"goodput_{worst}")
        shares = [100 * some / most for some, most in zip(good, capacity, strict=False) if most]
        if shares:
            times = worst.partition("_")[2].removesuffix("x")
            yield f"answers {_whole(shares)} % of its capacity in time at {times} times"
        if back := cell.figures("recovered_s"):
            yield f"as before {_seconds(back)} later"


def _title(table: EventTable) -> str:
    counted = [one for cell in table.cells for one in cell.records if one.service != NULL]
    shares = sorted({one.share for one in counted if one.share is not None and one.event not in NOT_OF_LOSSES})
    words = [plural(table.rounds, "round")]
    if shares:
        words.append(f"at {_whole([100 * one for one in shares])} % of each service's own capacity, or less")
    return f"What is lost: {', '.join(words)}"


def _row(row: EventRow, table: EventTable, labels: Mapping[str, str]) -> ToldRow:
    timeouts = row.timeouts_s
    return ToldRow(
        row,
        row.name,
        _seconds(timeouts) if timeouts else NOTHING,
        {name: cell_words(row.cells[name]) if name in row.cells else CellWords(NOTHING) for name in table.services},
        differ_words(row, labels),
    )


def differ_words(row: EventRow, labels: Mapping[str, str]) -> str:
    """Whether the services of a row differ; of many pairs, how many do."""
    differing = row.differing
    if len(differing) == 1:
        worse, better = _ordered(differing[0])
        return f"{labels[worse]} loses more than {labels[better]}"
    if differing:
        return f"{len(differing)} of {len(row.contrasts)} pairs differ"
    if not row.contrasts:
        return NOTHING
    named = {name for one in row.contrasts for name in (one.a, one.b)}
    if not any(row.cells[name].lost for name in named):
        return "no losses"
    if min(len(row.cells[name].counted) for name in named) < LEAST_ROUNDS:
        return "no verdict from one round"
    needed = [one.needed for one in row.contrasts if one.needed is not None]
    words = "not enough data"
    return f"{words}: {plural(min(needed), 'round')} would probably decide" if needed else words


def _ordered(one: EventContrast) -> tuple[str, str]:
    """(who loses more, who loses less)."""
    return (one.b, one.a) if one.verdict == "loses more" else (one.a, one.b)


def _sentences(table: EventTable, labels: Mapping[str, str]) -> Iterable[str]:
    """What differs, then who never came back, then what did not happen."""
    for row in table.rows:
        for worse, better in grouped(map(_ordered, row.differing), lambda pair: pair[0]).items():
            yield _loses_more(row, worse, [name for _, name in better], labels)
    for row in table.rows:
        yield from _closes_first(row, labels)
    for row in table.rows:
        gone = {name: cell for name, cell in row.cells.items() if cell.gone}
        some = {name: _in_rounds(cell.gone, len(cell.counted)).strip() for name, cell in gone.items()}
        told = [f"{labels[name]} ({rounds})" if rounds else labels[name] for name, rounds in some.items()]
        if told:
            yield f"{_capital(row.name)}: {listed(told)} never came back."
    for row in table.rows:
        unseen = [(cell.reason, labels[name]) for name, cell in row.cells.items() if cell.kind is Kind.UNSEEN]
        for reason, found in grouped(unseen, lambda one: one[0]).items():
            yield f"{_capital(row.name)}: it did not happen to {listed([label for _, label in found])} ({reason})."


def _closes_first(row: EventRow, labels: Mapping[str, str]) -> Iterable[str]:
    """Which servers close idle connections before a proxy does, by the defaults of both."""
    first: dict[str, list[str]] = {}
    for name, cell in row.cells.items():
        found = cell.figures("idle_s")
        if found and name != NULL and NOT_KEPT_S < min(found) < min(IDLE_OF_PROXIES.values()):
            first.setdefault(_seconds(found), []).append(labels[name])
    if first:
        servers = "; ".join(f"{listed(own)} after {seconds}" for seconds, own in first.items())
        proxies = listed([f"{name} ({_duration(seconds)})" for name, seconds in IDLE_OF_PROXIES.items()])
        yield (
            f"Idle connections are closed by {servers}: sooner than by {proxies}, which may send a request on one that"
            " is just being closed."
        )


def _duration(seconds: float) -> str:
    """`60 s`, `2 min`, `1 h`."""
    if seconds >= HOUR_S:
        return f"{seconds / HOUR_S:g} h"
    return f"{seconds / MINUTE_S:g} min" if seconds > MINUTE_S else f"{seconds:g} s"


HOUR_S, MINUTE_S = 3600, 60


def _loses_more(row: EventRow, worse: str, better: Sequence[str], labels: Mapping[str, str]) -> str:
    """`A reload of gunicorn 26.1.0 with keep-alive loses 3 to 7 of 1,000 requests, 27.0.1 none of 24,000`."""
    cells, what = row.cells, COUNTED.get(row.event, " requests")
    told = f"{_capital(_subject(row, labels[worse]))} loses {loses_words(cells[worse].counts)}{what}"
    if len(better) == 1:
        return f"{told}, {_shorter(labels[better[0]], labels[worse])} {loses_words(cells[better[0]].counts)}."
    shares = sorted(better, key=lambda name: share(cells[name].counts))
    if not any(cells[name].lost for name in shares):
        return f"{told}; {listed([labels[name] for name in shares])} lose none."
    return f"{told}; {listed([labels[name] for name in shares])} lose less."


def loses_words(counts: Counts) -> str:
    """`3 to 7 of 1,000` in the rounds, `none of 24,000` over all of them."""
    lost, sent = [one for one, _ in counts], [one for _, one in counts]
    if not any(lost):
        return f"none of {sum(sent):,.0f}"
    return f"{_whole(lost)} of {_whole(sent)}"


def _shorter(name: str, beside: str) -> str:
    """`27.0.1` beside `gunicorn 26.1.0`."""
    first, _, rest = name.partition(" ")
    return rest if rest and beside.startswith(f"{first} ") else name


def _subject(row: EventRow, name: str) -> str:
    return SUBJECTS.get(row.event, f"{row.event} of {{}}").format(name) + _case_words(row.case)


def _case_words(case: str) -> str:
    """` with keep-alive and a boot of 2 s`, for a sentence."""
    before, _, wait = case.partition(", pre-stop ")
    if before.startswith("behind "):
        return f" {before}" + (f" with a pre-stop wait of {wait}" if wait else "")
    first, _, boot = case.partition(", boot ")
    parts = [WITH[first]] if first in WITH else []
    parts += [f"a boot of {boot}"] if boot else []
    return f" with {' and '.join(parts)}" if parts else f" ({case})" if case else ""


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _advice(table: EventTable) -> Iterable[str]:
    """How many rounds would decide what has no verdict."""
    undecided = [one for row in table.rows for one in row.contrasts if one.needed is not None]
    if not undecided:
        return
    needed = sorted(one.needed or 0 for one in undecided)
    # Three in four of them: the last ones often need many.
    rounds = needed[(3 * len(needed) - 1) // 4]
    settled = sum(one <= rounds for one in needed)
    who = "it" if len(undecided) == 1 else f"{settled} of them" if settled < len(undecided) else "them"
    yield (
        f"{plural(len(undecided), 'difference')} in what events lose {'has' if len(undecided) == 1 else 'have'} no"
        f" verdict; `--rounds {rounds}` would probably settle {who}, if the rounds to come are like these."
    )


def _by_text(found: Iterable[tuple[EventRecord, str]], labels: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    """Each text once for an event, with the services that have it."""
    groups = grouped((one for one in found if one[1]), lambda one: (one[0].event, one[1]))
    for (event, text), own in groups.items():
        yield listed(list(dict.fromkeys(labels[record.service] for record, _ in own))), event, text


DEFAULTS: Mapping[str, str] = {
    "graceful": "time for requests under way at a stop or reload (GRACEFUL)",
    "timeout": "a hung worker is replaced after (TIMEOUT)",
    "keepalive": "an idle connection is closed after (KEEPALIVE)",
    "backlog": "connections that wait to be accepted (BACKLOG)",
    "silent": "a client that sends no request is cut after",
}
"""Each kind of default in words, with the knob that sets it."""


def _defaults(found: Mapping[str, Any], labels: Mapping[str, str]) -> Iterable[ToldDefault]:
    """By kind, services with the same default in one row."""
    for kind, what in DEFAULTS.items():
        entries = [(name, mapping(mapping(found.get(name)).get(kind))) for name in labels]
        rows = grouped(entries, lambda one: tuple(one[1].get(key) for key in ("value", "given", "source")))
        for (value, given, source), own in rows.items():
            if value:
                started = f"{given}" if kind == "backlog" else f"{given} s"
                same = given is None or started == str(value).replace(",", "")
                words = NOTHING if kind == "silent" else "its default" if same else started
                yield ToldDefault(what, listed([labels[name] for name, _ in own]), str(value), words, str(source))


def _reasons(table: EventTable) -> Iterable[tuple[EventRecord, str]]:
    return ((cell.records[0], cell.reason) for cell in table.cells if cell.kind is not Kind.COUNTED)


def outcome_words(cell: EventCell) -> str:
    """`3 reset, 1 timed out`; empty where nothing was lost."""
    return ", ".join(f"{count:,} {FATES[fate]}" for fate, count in cell.fates().items())

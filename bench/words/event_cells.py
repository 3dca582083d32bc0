"""A cell in a table of events in words: its count or its verdict, and details."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.analysis.events import NOT_OF_LOSSES, EventCell, Kind, is_gone
from bench.core import formats
from bench.core.formats import megabytes, milliseconds, number, plural
from bench.plan.events.growth import MILLION, RELOADS
from bench.records.event import Fate
from bench.stats.even_shares import UNEVEN
from bench.stats.event_counts import GROWS, NOT_ENOUGH, STEADY, Slope

GAP_S = 0.5
"""A time without a good response counts as an outage from this length on, even if no request was lost."""
MOST_EVEN = 1.2
"""Shares are uneven if one worker gets more than this many times the even share."""
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
AT_ONCE_S = 0.05
COUNTED = {"exhausted": " health checks", "away": " other requests"}
"""What is counted, in events that count some requests separately."""


@dataclass(frozen=True, slots=True)
class CellWords:
    """`head`: the count or the verdict. `more`: details. `mark`: good, bad, or empty if neither applies."""

    head: str
    more: tuple[str, ...] = ()
    mark: str = ""

    def line(self) -> str:
        """Everything on one line."""
        return "; ".join((self.head, *self.more))


def cell_words(cell: EventCell) -> CellWords:
    """The words of one cell."""
    if cell.kind is not Kind.COUNTED:
        heads = {
            Kind.CANNOT: "not supported",
            Kind.FAILED: "failed",
            Kind.UNSEEN: "no effect",
            Kind.REFUSED: "not valid",
        }
        seen = [one for one in cell.records if one.sent and not one.unaccounted]
        counts = f"lost {sum(one.lost for one in seen):,} of {sum(one.sent or 0 for one in seen):,}, not compared"
        more = [cell.reason] * (cell.kind is not Kind.CANNOT) + [counts] * bool(seen)
        return CellWords(heads[cell.kind], (*more,))
    if own := growth_words(cell) or balance_words(cell):
        return _with_losses(own, cell)
    counts = lost_words(cell)
    more = [*([] if cell.gone else _outage(cell)), *_figures(cell), *_not_as_before(cell), *_not_counted(cell)]
    if cell.gone:
        head = "no good response at the end" if cell.counted[0].event == "overload" else "never came back"
        return CellWords(f"{head}{in_rounds(cell.gone, len(cell.counted))}", (counts, *more), "bad")
    return CellWords(counts, (*more,), "bad" if cell.lost else "good")


def _with_losses(words: CellWords, cell: EventCell) -> CellWords:
    """The words of an event with a figure of its own, plus its losses and the rounds that are not counted."""
    more = [lost_words(cell), *_outage(cell), *words.more, *_not_as_before(cell)]
    if cell.gone:
        more.append(f"no good response at the end{in_rounds(cell.gone, len(cell.counted))}")
    lost = cell.lost and cell.counted[0].event not in NOT_OF_LOSSES
    return replace(words, more=(*more, *_not_counted(cell)), mark="bad" if lost else words.mark)


def lost_words(cell: EventCell) -> str:
    """`lost 3 of 1,486`, `lost all requests from then on`."""
    what = COUNTED.get(cell.counted[0].event, "")
    return f"lost {gone_words(cell) or f'{cell.lost:,} of {cell.sent:,}{what}'}"


def gone_words(cell: EventCell) -> str:
    """`all requests from then on`, if it never came back; empty for others.

    Its share of the window's requests would only say when the window ended. After an overload, the queue may only take
    longer than the window.
    """
    if not cell.gone or cell.counted[0].event == "overload":
        return ""
    after = cell.silent_s
    words = f"all requests from {'then' if max(after) < GAP_S else f'{seconds_of(after)} later'} on"
    rest = [one for one in cell.counted if not is_gone(one)]
    lost, sent = (sum(figures) for figures in ([one.lost for one in rest], [one.sent or 0 for one in rest]))
    return f"{words}, {f'{lost:,}' if lost else 'none'} of {sent:,} in the other rounds" if rest else words


def _outage(cell: EventCell) -> list[str]:
    found = cell.gap_s is not None and cell.gap_s >= GAP_S
    return [f"outage of {seconds_words(cell.gap_s or 0)} s"] if found else []


def _not_as_before(cell: EventCell) -> list[str]:
    words = f"not back to normal at the end{in_rounds(cell.disturbed, len(cell.counted))}"
    return [words] if cell.disturbed else []


def _not_counted(cell: EventCell) -> list[str]:
    left = len(cell.records) - len(cell.counted)
    return [f"{plural(left, 'round')} not counted: {cell.reason}"] if left else []


def growth_words(cell: EventCell) -> CellWords | None:
    """`grows 1.2 KB per 1,000 requests`, `steady (-0.1 to 0.3 descriptors a reload)`; None for other events."""
    if cell.counted[0].event != "memory":
        return None
    reloads = bool(cell.figures("reloads"))
    unit, each, times = ("descriptors", "a reload", 1.0) if reloads else ("KB", "per 1,000 requests", 1000 / 1024)
    growth = growth_of(cell)
    words, more = growth.word, list[str]()
    if growth.mean is not None and growth.low is not None and growth.high is not None:
        low, mean, high = (signed(one * times) for one in (growth.low, growth.mean, growth.high))
        interval = f"{low} to {high}" if low != high else low
        grows = growth.word == GROWS
        words = f"{GROWS} {mean} {unit} {each}" if grows else f"{growth.word} ({interval} {unit} {each})"
        more = [f"95 % interval {interval}"] if grows and low != high else []
    return CellWords(words, (*more, *_how_much(cell)), {GROWS: "bad", STEADY: "good"}.get(growth.word, ""))


def growth_of(cell: EventCell) -> Slope:
    """Its growth; "not enough data" if unknown."""
    return cell.growth or Slope(NOT_ENOUGH)


def _how_much(cell: EventCell) -> Iterable[str]:
    """The work that a slope is based on, and the memory that large bodies leave behind."""
    if reloads := cell.figures("reloads"):
        yield f"{whole(reloads)} of {RELOADS} reloads"
        return
    asked, seconds = cell.figures("requests"), cell.figures("parts_s")
    if sizes := cell.figures("kept_bytes"):
        grown = cell.figures("grown_bytes")
        # Workers that serve the requests afterwards may need more than the large bodies did.
        kept = [max(0.0, min(one, most)) for one, most in zip(sizes, grown, strict=True)]
        words = "all" if kept == grown else span(kept, megabytes)
        yield f"keeps {words} of the {span(grown, megabytes)} allocated for large bodies"
        sent, taken = sum(cell.figures("bodies")), sum(cell.figures("bodies_answered"))
        if taken < sent:
            yield f"{sent - taken:.0f} of {sent:.0f} large bodies not accepted"
    elif asked and min(asked) < MILLION:
        yield f"{whole(asked)} of {MILLION:,} requests in {whole(seconds)} s"


def signed(value: float) -> str:
    """Two significant digits, `-0.12`; zero has no sign."""
    return f"{value:.2g}" if 0.005 <= abs(value) < 10 else f"{round(value):,}"


def balance_words(cell: EventCell) -> CellWords | None:
    """`71 % to one of 4 workers`, and what that costs; None for other events."""
    if cell.counted[0].event != "balance":
        return None
    workers, worst = cell.figures("workers"), cell.figures("worst_share")
    if not worst:
        return CellWords("unknown: responses do not say which worker gave them")
    if max(workers) < 2:
        return CellWords("only one worker")
    uneven = cell.p_even <= UNEVEN
    more = ["more than chance explains" if uneven else "within chance"]
    more += [_cost(cell)] if cell.figures("p99_s") else []
    head = f"{whole([100 * one for one in worst])} % to one of {whole(workers)} workers"
    return CellWords(head, (*more,), "bad" if uneven else "good")


def _cost(cell: EventCell) -> str:
    """p99 as measured, and with even shares if these could be produced."""
    p99 = f"p99 {span(cell.figures('p99_s'), milliseconds)}"
    if not cell.figures("even_worst_share") or cell.p_even > UNEVEN:
        return p99
    even = even_p99(cell)
    return p99 + (f", {span(even, milliseconds)} with even shares" if even else "; even shares could not be produced")


def even_p99(cell: EventCell) -> list[float]:
    """p99 in seconds with even shares, for each round; none if the client could not produce even shares."""
    shares = cell.figures("even_worst_share")
    even = bool(shares) and max(shares) <= MOST_EVEN / max(cell.figures("workers"))
    return cell.figures("even_p99_s") if even else []


def in_rounds(some: int, rounds: int) -> str:
    """` in 1 of 3 rounds`; empty if it is all of them."""
    return f" in {some} of {rounds} rounds" if some < rounds else ""


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


def with_noun(values: Sequence[float], noun: str) -> str:
    """`4 to 16 slow connections`, `1 worker`."""
    return f"{whole(values)} {noun}{'' if max(values) == 1 else 's'}"


FIGURES: Mapping[str, Callable[[list[float]], str]] = {
    "new_code_s": lambda found: f"new code after {seconds_of(found)}",
    "exit_s": lambda found: f"exits after {seconds_of(found)}",
    "restored_s": lambda found: f"a new worker answers after {seconds_of(found)}",
    "ended_s": lambda _: "the whole server ended",
    "smallest_k": lambda found: f"blocked by {with_noun(found, 'slow connection')}",
    "kb_per_connection": lambda found: f"{span(found, number)} KB per connection",
    "recycled": lambda found: f"{with_noun(found, 'worker')} recycled",
}
"""How each figure is worded beside the counts of a cell."""


def _figures(cell: EventCell) -> Iterable[str]:
    """What an event measures besides losses."""
    kind = "idle" if cell.counted[0].event == "connections" else "slow"
    for name, write in FIGURES.items():
        if found := cell.figures(name):
            yield write(found).replace("slow", kind)
    if cell.counted[0].event in ("killed", "hung") and not cell.figures("restored_s") and not cell.gone:
        started = cell.figures("started_s")
        yield f"a new worker starts after {seconds_of(started)}" if started else "the worker was not replaced"
    if killed := cell.figures("oom_kills"):
        yield f"{whole(killed)} of its processes killed for lack of memory"
    yield from _signalled(cell)
    yield from _beside_slow(cell, kind)
    if cell.figures("most_k") and not cell.figures("smallest_k"):
        yield f"not blocked by {with_noun(cell.figures('most_k'), f'{kind} connection')}"
    fates = [fate for fate in cell.values("long_fate") if fate]
    if fates:
        finished = sum(fate == Fate.ANSWERED for fate in fates)
        yield "the 5 s response " + (
            "finished" if finished == len(fates) else f"aborted{in_rounds(len(fates) - finished, len(fates))}"
        )
    yield from _overload(cell)
    yield from _exhausted(cell)
    yield from _away(cell)
    yield from _behind_proxy(cell)
    yield from _idle(cell)


def _signalled(cell: EventCell) -> Iterable[str]:
    """What happened to requests in flight at the signal, and which connections were told to close."""
    if cell.counted[0].event in ("reload", "stop") and (some := sum(cell.figures("under_way"))):
        yield f"{sum(cell.figures('under_way_lost')):,.0f} of {some:,.0f} requests in flight lost"
    if idle := sum(cell.figures("idle")):
        after = f" after {seconds_of(cell.figures('idle_closed_s'))}" if cell.figures("idle_closed_s") else ""
        yield f"{sum(cell.figures('idle_closed')):,.0f} of {idle:,.0f} idle connections closed{after}"
    if left := sum(cell.figures("still_answered")):
        yield f"{sum(cell.figures('told_to_close')):,.0f} of {left:,.0f} connections told to close"


def _beside_slow(cell: EventCell, kind: str) -> Iterable[str]:
    """How many slow connections the server answered or closed, and how it answered others meanwhile."""
    held, opened = sum(cell.figures("slow_answered")), sum(cell.figures("opened"))
    if kind == "idle" and 0 < held < opened:
        yield f"answers {held:,.0f} of {opened:,.0f} {kind} connections"
    if after := cell.figures("cut_after_s"):
        many = f"{sum(cell.figures('cut')):,.0f} of {sum(cell.figures('opened')):,.0f} {kind} connections"
        status = cell.figures("cut_status")
        yield f"closes {many} after {seconds_of(after)}{f' with status {whole(status)}' if status else ''}"
    if beside := cell.figures("p99_beside_s"):
        most = with_noun(cell.figures("p99_beside_k"), f"{kind} connection")
        yield f"p99 of other requests {span(beside, milliseconds)} beside {most}"


def restored(cell: EventCell) -> list[float]:
    """Seconds until a new worker answers, or until it starts if no request shows when it answers."""
    pairs = zip(cell.values("restored_s"), cell.values("started_s"), strict=True)
    found = [started if answers is None else answers for answers, started in pairs]
    return [float(one) for one in found if one is not None]


def _exhausted(cell: EventCell) -> Iterable[str]:
    """How many waiting requests health checks withstand, and what happens to these requests and their connections."""
    most, failing = cell.figures("most_waiting"), cell.figures("failing_k")
    if most:
        places = cell.figures("places")
        room = f" ({whole(places)} served at once)" if places else ""
        verb, counts = ("fail", failing) if failing else ("pass", most)
        told = f"{verb} beside {with_noun(counts, 'waiting request')}"
        rounds = in_rounds(len(failing), len(cell.counted)) if failing else ""
        yield f"health checks {told}{rounds}{room}"
        if waits := cell.figures("longest_wait_s"):
            yield f"{whole(most)} wait{'s' * (max(most) == 1)} up to {seconds_of(waits)}"
        if lost := sum(cell.figures("needs_lost")):
            yield f"{lost:,.0f} of {sum(cell.figures('needs_sent')):,.0f} waiting requests lost{_their_timeout(cell)}"
    if used := cell.figures("connections_used_after"):
        most_at_once = with_noun(cell.figures("connections_most"), "database connection")
        yield f"{most_at_once}, {whole(used)} still in use afterwards"


def _their_timeout(cell: EventCell) -> str:
    """The client's timeout of requests that need a dependency, which is not that of the others."""
    found = cell.figures("needs_timeout_s")
    return f" (client timeout {seconds_of(found)})" if found else ""


def _away(cell: EventCell) -> Iterable[str]:
    """What happens to requests that need the missing dependency."""
    if sent := sum(cell.figures("needs_meanwhile")):
        lost, after = sum(cell.figures("needs_lost_meanwhile")), sum(cell.figures("needs_lost_after"))
        yield f"{lost:,.0f} of {sent:,.0f} that needed it lost{_their_timeout(cell)}"
        again = cell.figures("again_s")
        if again:
            yield f"answers again {'at once' if max(again) < AT_ONCE_S else f'after {seconds_of(again)}'}"
        if missing := len(cell.counted) - len(again):
            yield f"does not answer again{in_rounds(missing, len(cell.counted))}"
        if after:
            yield f"{after:,.0f} lost once it was back"


NOT_KEPT_S = 0.2
"""A server that closes idle connections sooner than this keeps none."""
LEAST_UNANSWERED = 0.05
"""The smallest share of CPU time that is reported: under overload, requests that are answered take a little longer."""


def _idle(cell: EventCell) -> Iterable[str]:
    """When the server closes idle connections, and for how long requests that arrive just then are lost."""
    if idle_s := cell.figures("idle_s"):
        if max(idle_s) < NOT_KEPT_S:
            yield "closes the connection after each response"
            return
        yield f"closes idle connections after {seconds_of(idle_s)}"
        if (late := cell.figures("lost_to_ms")) and cell.lost:
            after = max(late)
            when = f"until {after:.0f} ms after" if after >= 1 else "just before"
            per = f" ({whole(cell.figures('lost_per_100000'))} per 100,000)" if cell.figures("lost_per_100000") else ""
            yield f"requests are lost {when} that{per}"
    elif held := kept_s(cell):
        yield f"keeps idle connections for more than {held:g} s"


def kept_s(cell: EventCell) -> float:
    """The time for which it kept idle connections without closing one, in seconds; 0 if it closed some."""
    return 0.0 if cell.figures("idle_s") or not any(cell.figures("held")) else max(cell.figures("watched_s"))


CAUSES: Mapping[str, str] = {
    "no_container": "no container left",
    "refused": "connection refused",
    "unreachable": "no connection in time",
    "closed": "closed before the response",
    "reset": "reset",
    "timed_out": "no response in time",
}
"""Why a proxy's request to a container failed, by the names of bench/records/event_proxy.py."""
BAD_STATUS = re.compile(r"(proxy|server)_5\d\d")


def _behind_proxy(cell: EventCell) -> Iterable[str]:
    """How long each container swap took, and whether error statuses came from the proxy or the server."""
    both = [one for number in (1, 2) for one in cell.figures(f"swap_{number}_s")]
    if both:
        yield f"each container back after {seconds_of(both)}"
    if killed := sum(sum(cell.figures(f"killed_{number}")) for number in (1, 2)):
        yield f"{killed:.0f} of {len(both)} had to be killed"
    names = sorted({name for one in cell.counted for name in one.extras if BAD_STATUS.fullmatch(name)})
    for name in names:
        whose, _, status = name.partition("_")
        because = f" ({words})" if (words := _causes(cell, name)) else ""
        requests = plural(round(sum(cell.figures(name))), "request", ",")
        yield f"{requests} got {status} from the {whose} itself{because}"
    if names and (words := _causes(cell, "cause")) and words != _causes(cell, *names):
        yield f"failed attempts: {words}"


def _causes(cell: EventCell, *names: str) -> str:
    """`3 no container left, 1 reset`: the figures of these names by cause."""
    counts = {words: sum(sum(cell.figures(f"{name}_{cause}")) for name in names) for cause, words in CAUSES.items()}
    return ", ".join(f"{count:,.0f} {words}" for words, count in counts.items() if count)


def _overload(cell: EventCell) -> Iterable[str]:
    """What is still answered in time at the highest rate of all phases, as a share of the capacity."""
    times, shares = goodput_shares(cell)
    if shares:
        yield f"answers {whole(shares)} % of its capacity in time at {times} times the capacity"
    if (spent := cell.figures("cpu_unanswered")) and max(spent) >= LEAST_UNANSWERED:
        percent = whole([100 * max(0.0, share) for share in spent])
        yield f"spends {percent} % of its CPU time on requests that it does not answer in time"
    if back := cell.figures("recovered_s") if times else []:
        yield f"back to normal {seconds_of(back)} later"


def goodput_shares(cell: EventCell) -> tuple[str, list[float]]:
    """(the highest rate as a multiple of the capacity, percent of the capacity answered in time, for each round)."""
    rates = {name: cell.figures(name) for one in cell.counted[:1] for name in one.extras if name.startswith("rate_")}
    if not rates:
        return "", []
    worst = max(rates, key=lambda name: max(rates[name])).removeprefix("rate_")
    pairs = zip(cell.figures(f"goodput_{worst}"), cell.figures("capacity"), strict=False)
    return worst.partition("_")[2].removesuffix("x"), [100 * some / most for some, most in pairs if most]


def outcome_words(cell: EventCell) -> str:
    """`3 reset, 1 timed out`; empty if nothing was lost."""
    return ", ".join(f"{count:,} {FATES[fate]}" for fate, count in cell.fates().items())

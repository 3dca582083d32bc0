"""Events with a known outcome: services/frameworks/synthetic/bad_day.py does exactly what its BAD_DAY says.

Counts must be exact. Times have a minimum that the server itself guarantees, and may exceed it by `SLACK_S` for a busy
machine, and by more if the client itself was late (`behind_s`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from bench.analysis.events import connections_of
from bench.core.errors import UserError
from bench.core.formats import markdown_table
from bench.matrix.load import load_matrix
from bench.plan.event import LOOK_S
from bench.plan.events.dependencies import AWAY_S, HEALTH_RATE, HOLD_S, IN_POOL, steps_of
from bench.plan.events.growth import RELOADS
from bench.records.event import EventRecord, Fate
from bench.records.file import read_events
from bench.run.facts import read_run_facts
from bench.stats.event_counts import GROWS, LEAST_DESCRIPTORS, NEGLIGIBLE, STEADY, slope
from calibration.report import verdict

APP = "synthetic-bad-day"
SLACK_S = 0.6
LATE = 5
"""A process may wait for a CPU this many times as long as the client's p99 lateness."""
HEAP, SHARE_OFF = 0.05, 0.05
"""Allowed errors: what the heap itself adds to a leak; the share of requests, as connections are not used equally."""
AWAY_SLACK_S = 2.0
"""Seconds until a restarted container passes its health check."""
TURNED_S = 0.25
"""Seconds for which a worker that was told to end may still have kept-alive connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the server does; bad_day.py explains the fields."""

    drops: float
    back_s: float
    exit_s: float
    slow: float
    stall_s: float
    idle_s: float
    leak: float = 0.0
    files: float = 0.0
    uneven: float = 0.0
    places: float = 0.0


def known_of(text: str) -> Known:
    """Parses a BAD_DAY."""
    return Known(**{name: float(value) for name, value in parse_qsl(text, strict_parsing=True)})


@dataclass(frozen=True, slots=True)
class Check:
    """A figure of a record: the true value and the measured one."""

    what: str
    truth: str
    measured: str
    holds: bool


def exactly(what: str, truth: object, measured: object) -> Check:
    """Checks a count or a word for equality."""
    return Check(what, str(truth), str(measured), measured == truth)


def behind_s(record: EventRecord) -> float:
    """How long server, client or driver may have had no CPU."""
    return LATE * (record.late_p99_s or 0.0)


def within(record: EventRecord, what: str, least: float, measured: object, more: float = SLACK_S) -> Check:
    """Checks a time in seconds: no shorter than `least`, and not much longer."""
    more += behind_s(record)
    holds = isinstance(measured, int | float) and least <= measured <= least + more
    found = f"{measured:.3f} s" if isinstance(measured, int | float) else str(measured)
    return Check(what, f"{least:.3f} to {least + more:.3f} s", found, holds)


def checks(record: EventRecord, known: Known) -> list[Check]:
    """All checks of this record."""
    of_event = {
        "reload": _reload,
        "stop": _stop,
        "killed": _killed,
        "rolling": _rolling,
        "slow": _slow,
        "memory": _memory,
        "balance": _balance,
        "exhausted": _exhausted,
        "away": _away,
    }
    counts = "yes" if record.counts else record.detail or "; ".join(record.causes)
    window_checks = [exactly("window counts", "yes", counts)]
    if record.sent is None or record.window_s is None:
        return window_checks
    if record.event == "memory" and not record.extras.get("reloads"):
        return [*window_checks, *_memory(record, known)]
    if record.rate is None:
        return window_checks
    if record.event == "idle-close":
        # Its requests have no schedule: each follows the previous response.
        return [*window_checks, *_idle_close(record, known)]
    # Compare with the number of requests that were due by the schedule, so that one missing in the log is noticed.
    due, after = round(record.window_s * record.rate) + 1 + found_out(record), record.extras.get("sent_after", 0)
    long = record.extras.get("long_fate") is not None
    assert isinstance(after, int)
    return [
        *window_checks,
        exactly("requests in the log", due + long, record.sent + after),
        *of_event[record.event](record, known),
    ]


def found_out(record: EventRecord) -> int:
    """Requests whose only purpose was to find out which worker a new connection has."""
    opened = record.extras.get("opened")
    return opened if record.event == "balance" and isinstance(opened, int) else 0


def _memory(record: EventRecord, known: Known) -> Iterator[Check]:
    """The leak must be within the interval of the growth, except for the few pages that the heap itself adds."""
    reloads = record.extras.get("reloads")
    assert reloads is None or isinstance(reloads, int)
    if reloads is None:
        yield exactly("lost requests", 0, record.lost)
        truth, unit, least = known.leak, "bytes a request", NEGLIGIBLE
    else:
        yield exactly("reloads", RELOADS, reloads)
        yield exactly("lost requests", int(known.drops) * reloads, record.lost)
        truth, unit, least = known.files, "files a reload", LEAST_DESCRIPTORS
    growth = slope([[(point.done, point.held) for point in record.points]], least)
    yield exactly("memory or files", STEADY if truth < least else GROWS, growth.word)
    if growth.mean is not None and growth.low is not None and growth.high is not None:
        span = f"{growth.mean:.2f} ({growth.low:.2f} to {growth.high:.2f}) {unit}"
        more = max(HEAP * truth, least / 4)
        yield Check("growth", f"{truth:g} {unit}", span, growth.low - more <= truth <= growth.high + more)


def _balance(record: EventRecord, known: Known) -> Iterator[Check]:
    """The first worker must get its share of the connections, to within one, and its share of the requests."""
    if not known.uneven:
        yield exactly("workers", 1, record.extras["workers"])
        return
    opened = connections_of(record)
    total, share = sum(opened), record.extras["worst_share"]
    truth = known.uneven * total
    yield Check("connections to one worker", f"{truth:.1f} of {total}", str(max(opened)), abs(max(opened) - truth) <= 1)
    assert isinstance(share, float)
    off = max(SHARE_OFF, 1 / total)
    if record.counts:
        # On a busy machine, connections to a worker that is behind are free less often.
        yield Check("requests to it", f"{known.uneven:.0%}", f"{share:.1%}", abs(share - known.uneven) <= off)
    yield exactly("lost requests", 0, record.lost)


def _reload(record: EventRecord, known: Known) -> Iterator[Check]:
    back_s = known.back_s + float(record.environment.get("BOOT_S", 0))
    yield exactly("lost requests", int(known.drops), record.lost)
    yield exactly("of these, reset", int(known.drops), record.fates.get(Fate.RESET, 0))
    yield within(record, "longest outage", back_s - TURNED_S, record.longest_gap_s, TURNED_S + SLACK_S)
    yield within(record, "until the new code answers", back_s, record.extras["new_code_s"])
    yield within(record, "until all workers are others", back_s, record.extras["swapped_s"])


def _stop(record: EventRecord, known: Known) -> Iterator[Check]:
    """All requests in flight are lost, but one may still be answered between the clock's reading and the signal."""
    under_way = record.extras["under_way"]
    assert isinstance(under_way, int)
    least = max(1, under_way - 1 - math.floor(behind_s(record) * (record.rate or 0)))
    truth = f"of {under_way} under way at least {least}"
    yield Check("lost requests", truth, str(record.lost), least <= record.lost <= under_way)
    yield exactly("of these, reset", record.lost, record.fates.get(Fate.RESET, 0))
    yield exactly("fate of the response that takes 5 s", Fate.RESET.value, record.extras["long_fate"])
    yield within(record, "until it ended", known.exit_s, record.exit_s)


def _killed(record: EventRecord, known: Known) -> Iterator[Check]:
    """Besides requests in flight, one is lost if its connection was checked just before the signal.

    If the client waited for a CPU at that moment, none was in flight, but those that it then sent are lost.
    """
    under_way = record.extras["under_way_lost"]
    assert isinstance(under_way, int)
    least, most = max(1, under_way), under_way + math.ceil((2 * LOOK_S + behind_s(record)) * (record.rate or 0))
    yield Check("lost requests", f"{least} to {most}", str(record.lost), least <= record.lost <= most)
    yield exactly("of these, refused or timed out", 0, sum(record.fates.get(one, 0) for one in WAITED))
    yield within(record, "until a new worker starts", known.back_s, record.extras["started_s"])
    yield within(record, "until it answers", known.back_s, record.extras["restored_s"])
    yield within(record, "longest outage", known.back_s - TURNED_S, record.longest_gap_s, TURNED_S + SLACK_S)


def _rolling(record: EventRecord, known: Known) -> Iterator[Check]:
    """Containers are taken out of the proxy first, so no request is in flight when one ends."""
    yield exactly("lost requests", 0, record.lost)
    for number in (1, 2):
        yield within(record, f"until container {number} ended", known.exit_s, record.extras[f"exit_{number}_s"])
        yield exactly(f"container {number} had to be killed", False, record.extras[f"killed_{number}"])


def _idle_close(record: EventRecord, known: Known) -> Iterator[Check]:
    """The first connections show when the server closes idle ones; later requests that arrive then are reset."""
    yield exactly("connections that it has not closed", 0, record.extras["held"])
    yield within(record, "an idle connection is closed after", known.idle_s, record.extras.get("idle_s"))
    yield Check("lost requests", "some", str(record.lost), record.lost > 0)
    yield exactly("of these, reset", record.lost, record.fates.get(Fate.RESET, 0))


def _exhausted(record: EventRecord, known: Known) -> Iterator[Check]:
    """Health checks that need a place in the pool fail once waiting requests have taken all; others never fail."""
    places, pooled = int(known.places), record.case == IN_POOL
    if not pooled:
        yield exactly("lost health checks", 0, record.lost)
    yield exactly(
        "fewest waiting requests beside which one fails", places if pooled else None, record.extras["failing_k"]
    )
    yield exactly("waiting requests that were lost", 0, record.extras["needs_lost"])
    for count in steps_of(places):
        least = math.ceil(count / places) * HOLD_S
        yield within(record, f"the longest of {count} waits", least, record.extras[f"wait_{count}_s"])


def _away(record: EventRecord, known: Known) -> Iterator[Check]:
    """All requests sent while it was away are lost; those sent during `docker stop` and `docker start` may be."""
    gone, back = record.actions
    sent, lost = (record.extras[f"needs{name}_meanwhile"] for name in ("", "_lost"))
    assert isinstance(sent, int) and isinstance(lost, int)
    least = math.floor((back.at_s - gone.at_s - gone.took_s) * HEALTH_RATE)
    yield exactly("lost of those that do not need it", 0, record.lost)
    for when in ("before", "after"):
        yield exactly(f"lost {when}", 0, record.extras[f"needs_lost_{when}"])
    yield Check("lost meanwhile", f"{least} to {sent}", str(lost), least <= lost <= sent)
    yield within(record, "it was away", AWAY_S, record.extras["away_s"], AWAY_SLACK_S)
    yield within(record, "answered again after", 0.0, record.extras["again_s"])


WAITED = (Fate.REFUSED, Fate.TIMED_OUT)
"""Impossible fates if connections wait for the next worker, and for less than the client's timeout."""


def _slow(record: EventRecord, known: Known) -> Iterator[Check]:
    steps = [int(action.what.split()[0]) for action in record.actions]
    first = next((k for k in steps if k >= known.slow), None)
    yield exactly("fewest slow connections that stop service", first, record.extras["smallest_k"])
    yield within(record, "longest outage", known.stall_s, record.longest_gap_s)
    yield exactly("slow connections that were closed", record.extras["opened"], record.extras["cut"])
    yield within(record, "after", known.idle_s, record.extras["cut_after_s"])


HEADS = ("server", "event", "figure", "truth", "measured", "")


def events(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds): each figure of each event of these runs against its true value."""
    found = [(folder, record) for folder in folders for record in read_events(Path(folder))]
    records = [record for folder, record in found if _is_known(folder, record)]
    if not records:
        raise UserError(f"{folders[0]} has no event of {APP}")
    apps = load_matrix().selftests
    return report(records, {name: known_of(apps[name].environment["BAD_DAY"] or "") for name in apps if APP in name})


def _is_known(folder: str, record: EventRecord) -> bool:
    return APP in record.service and record.service in read_run_facts(folder).services


def report(records: Sequence[EventRecord], known: Mapping[str, Known]) -> tuple[str, bool]:
    """As `events`, of these records; `known` is by app."""
    rows: list[list[str]] = []
    seen: Mapping[str, list[Check]] = {record.id: checks(record, known[record.framework]) for record in records}
    for record in records:
        name = f"{record.event}, {record.case}" if record.case else record.event
        rows += [
            [record.framework, name, one.what, one.truth, one.measured, verdict(one.holds)] for one in seen[record.id]
        ]
    return markdown_table(HEADS, rows), all(one.holds for every in seen.values() for one in every)

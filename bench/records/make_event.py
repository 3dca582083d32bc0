"""Makes the record of an event from its raw files: the log of requests, the actions, and the observations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from bench.core.files import as_object, mapping, read_bytes
from bench.core.typed import read_or_none
from bench.plan.event import ENDED
from bench.plan.measurement import WHOSE, Measurement, SkippedCell
from bench.records.closed_loop import Part, parts_of
from bench.records.event import NEEDS, Ended, EventRecord
from bench.records.event_window import NOTHING, Figures, Row, Window, end_of, read_log, read_slow
from bench.records.outcome import KILLED
from bench.run.reader import Raw, Run, folder_bytes, read_raw
from bench.tools.sockets import CAPACITY, EVENTS, PROXY, REQUESTS, SLOW
from driver.messages import EventReport

MANY_LOST = "1 % of the requests or more were lost"
A_LOOP = "a closed loop has neither a rate nor times at which requests are due"
NO_LOG, NO_END = f"{REQUESTS} is missing or damaged", "the log has requests without an end"


def event_records(source: Run) -> list[EventRecord]:
    """The records of a run's events in the order of the plan, then those of events that its servers cannot do."""
    records = [
        event_record(source.path, planned, read_raw(source.path, planned))
        for planned in source.planned
        if planned.event
    ]
    skips = (skip for skip in source.facts.skipped if skip.event)
    return records + [_cannot(source, number, skip) for number, skip in enumerate(skips, 1)]


def event_record(run: str, planned: Measurement, raw: Raw) -> EventRecord:
    """The record of one event of one service in one round."""
    assert planned.event
    event = planned.event
    record = EventRecord(
        **{name: getattr(planned, name) for name in WHOSE},
        event=event.name,
        case=event.case,
        environment=event.environment,
        documented=event.documented,
        keepalive=event.pool > 0,
        connections=event.pool or None,
        timeout_s=event.timeout_s,
        ended=Ended.FAILED,
        detail="not measured",
    )
    folder = f"{run}/{planned.dir}"
    reported = read_or_none(EventReport, as_object(read_bytes(f"{folder}/{EVENTS}") or b"")) or NOTHING
    if reported.cannot:
        return replace(record, ended=Ended.CANNOT, detail=reported.cannot)
    if raw.meta is None:
        return record
    if raw.meta.get("outcome") != "measured":
        return replace(record, detail=f"{raw.meta.get('outcome')}: {raw.meta.get('detail')}")
    log = read_log(raw.output)
    if log is None or raw.tool is None:
        return replace(record, detail=NO_LOG)
    capacity = mapping(as_object(read_bytes(f"{folder}/{CAPACITY}") or b"")).get("rate")
    slow = read_slow(read_bytes(f"{folder}/{SLOW}"))
    needing = [row for row in log if row.kind.startswith(NEEDS)]
    others = [row for row in log if not row.kind.startswith(NEEDS)]
    said = (read_bytes(f"{folder}/{PROXY}") or b"").decode(errors="replace").splitlines()
    window = Window(event, raw.tool, reported, others, slow, needing, said, folder_bytes(run, planned.service))
    return _measured(record, window, capacity if isinstance(capacity, float) else None)


def _measured(empty: EventRecord, window: Window, capacity: float | None) -> EventRecord:
    """The record with all of its figures."""
    counted, parts = window.specifics.counted(window), parts_of(window)
    happened, shown_by = window.evidence()
    fates = Counter(row.fate for row in counted if row.fate)
    for part in parts:
        fates += part.fates or Counter()
    sent = len(counted) + sum(part.fates.total() for part in parts if part.fates)
    rate = window.rates[0][0] if window.rates else None
    no_gap = window.specifics.no_gap or (A_LOOP if parts else "")
    before, around = window.p99(window.before), window.p99_of_all(window.around)
    record = replace(
        empty,
        ended=Ended.DONE,
        detail="",
        rate=rate,
        capacity=capacity,
        share=rate / capacity if capacity and rate else None,
        window_s=max([row.due for row in window.log] + [part.end for part in parts], default=0.0),
        beside=int(window.tool["beside"]),
        actions=window.actions,
        sent=sent,
        fates=dict(fates),
        unaccounted=_unaccounted(window, parts, counted),
        longest_gap_s=None if no_gap else window.longest_gap(),
        p99_before_s=before,
        p99_around_s=around,
        recovered_s=None if no_gap else window.recovered(before),
        workers_before=window.told.before,
        workers_after=window.workers_after,
        happened=happened,
        happened_by=shown_by,
        exit_s=window.since(window.told.ended_ns) if window.event.until == ENDED else None,
        memory_before_bytes=window.memory_before,
        memory_peak_bytes=max((size for _, size in window.memory), default=None),
        late_p99_s=window.late,
        causes=tuple(window.causes()),
        timeline=tuple(window.timeline()),
        points=tuple(window.specifics.points(window)),
        extras=_figures(window) | window.specifics.figures(window),
    )
    reasons = {
        "rate": A_LOOP,
        "share": A_LOOP if parts else "its capacity is not known",
        "longest_gap_s": no_gap,
        "p99_before_s": A_LOOP if parts else "nothing was answered before the event",
        "p99_around_s": A_LOOP if parts else MANY_LOST if window.around else "no request was due then",
        "recovered_s": no_gap or "not in this window",
        "exit_s": "the service has not ended" if window.event.until == ENDED else "it is not stopped in this event",
        "memory_before_bytes": "its memory could not be read",
        "memory_peak_bytes": "its memory could not be read",
        "late_p99_s": "nothing was sent",
        "happened": "nothing that was recorded shows it",
    }
    missing = {name: why for name, why in reasons.items() if getattr(record, name) is None}
    return replace(record, missing=missing)


def _figures(window: Window) -> Figures:
    """The figures of all events besides losses: what was under way, and how the service ended it."""
    figures: Figures = {"told_close": sum(row.told_close for row in window.log if end_of(row) > window.at)}
    if window.told.oom_kills:
        figures["oom_kills"] = window.told.oom_kills
    if window.event.actions:
        under_way = [row for row in window.log if row.begun is not None and row.begun <= window.at < end_of(row)]
        figures |= {"under_way": len(under_way), "under_way_lost": sum(not row.good for row in under_way)}
    return figures


def _unaccounted(window: Window, parts: Sequence[Part], counted: Sequence[Row]) -> str:
    """Why the fate of some requests is unknown; empty if all are known. A server's end explains that of a tool."""
    unread = [number for number, part in enumerate(parts, 1) if part.fates is None]
    if unread:
        what = f"wrk does not say what it sent in part {unread[0]}"
        return f"the server was {KILLED}: {what}" if window.told.oom_kills else what
    return "" if all(row.fate for row in (*counted, *window.needing)) else NO_END


def _cannot(source: Run, number: int, skip: SkippedCell) -> EventRecord:
    """The record of an event that was not planned because the service cannot do it."""
    known = source.facts.service(skip.service)
    return EventRecord(
        id=f"cannot-{number:04}",
        round=1,
        service=skip.service,
        **{name: getattr(known, name) for name in ("server", "framework", "python", "base")},
        scenario=skip.scenario or "",
        event=skip.event or "",
        case=skip.case,
        ended=Ended.CANNOT,
        detail=skip.cause,
    )

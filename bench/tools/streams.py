"""streams: WebSockets that echo messages, and streams of server-sent events (loadgen/streams).

It prints one JSON object. Its latencies are from when a message or stream was due, whenever it was sent.

Streams with a pace of their own begin on a schedule, even if there are to be so many at a time (c64): begun at once,
the events of all would be due at the same times.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from bench.core.formats import plain
from bench.tools.parsed import Errors, Histogram, Latency, Parsed, Timed, absent
from bench.tools.reading import clip
from bench.tools.send_lag import JUDGED, MAX_SHIFT, SHARES, least_requests
from bench.tools.tool import Command, Load, Tool, whole

CONNECTIONS = 64
"""Those of an open loop of messages."""
NOT_COME = ("connect", "read", "write", "timeout")
"""Its errors that other tools have, too: of what has not come."""
WRONG, MISSING = ("wrong", "doubled", "disorder"), "missing"
"""Errors of messages and events that have come but were not due, and of those that never came."""
PERCENTILES = frozenset({"p50", "p75", "p90", "p99"})
TAILS = PERCENTILES | {"p99.9"}
_START = re.compile(rb'^\{"kind":', re.MULTILINE)

Count = Annotated[int, Meta(ge=0, lt=10**18)]
Seconds = Annotated[float, Meta(ge=0, lt=10**9)]


class StreamTimes(Struct, frozen=True):
    """Times in seconds, and their histogram: times in ns, and how many are in the class up to each."""

    count: Count
    mean: Seconds
    max: Seconds
    percentiles: Mapping[str, Seconds]
    ns: tuple[Count, ...] = ()
    counts: tuple[Count, ...] = ()

    def __post_init__(self) -> None:
        if len(self.ns) != len(self.counts) or sum(self.counts) != self.count:
            raise ValueError("a histogram does not add up")

    @property
    def histogram(self) -> dict[int, int]:
        """How many took how many ns."""
        return dict(zip(self.ns, self.counts, strict=True))


class StreamEnds(Struct, frozen=True):
    """Streams that were due, and those of them that began and then ended whole, ended early, or were still open."""

    due: Count
    begun: Count
    complete: Count
    cut: Count
    open: Count


class StreamsReport(Struct, frozen=True):
    """What it prints. `units`: good messages or events; `negotiated`: how often which compression was agreed on."""

    kind: str
    duration_s: Seconds
    units: Count
    bytes: Count
    errors: Mapping[str, Count]
    negotiated: Mapping[str, Count]
    times: Mapping[str, StreamTimes | None]
    streams: StreamEnds | None = None


class Streams(Tool):
    """Closed loops of messages or of streams, and open loops of both; the kind of the exchange says which."""

    name = "streams"
    speaks = frozenset({("websocket", "ws"), ("sse", "http/1.1")})
    duration_digit_s = latency_digit_s = 0.0
    limits_rate = True
    ends_frozen = True
    times_opening = False

    def refusal(self, load: Load) -> str | None:
        """It runs for a time, and keeps its connections."""
        if load.count:
            return "streams runs for a time, not for a number of messages"
        if not load.keepalive:
            return "streams keeps its connections open"
        neither = (load.connections is None) == (load.rate is None)
        return "streams takes connections or a rate (c16, r50)" if neither else None

    def version(self) -> str:
        """It is a part of this project."""
        return ""

    def command(self, load: Load) -> Command:
        """What is sent is a fact of the exchange."""
        sent, rate = load.exchange, [whole("rate", load.rate)] if load.open_loop else []
        words = ["streams", sent.kind]
        # A load that is shorter than a stream, such as a warm-up, has no time for a schedule.
        if load.connections and 0 < sent.paced_s <= (load.duration_s or 0):
            rate = [f"{load.connections / sent.paced_s:g}"]
        if sent.kind == "sse":
            words += [] if rate else ["-open", whole("connections", load.connections)]
            words += ["-events", whole("number of events", sent.events), "-gap", f"{sent.gap_ms or 0}ms"]
        else:
            words += ["-connections", whole("connections", load.connections or CONNECTIONS)]
            words += ["-size", whole("size", sent.size), *(["-deflate"] if sent.deflate else [])]
        words += ["-rate", *rate] if rate else []
        words += ["-duration", f"{plain(load.duration_s)}s", "-timeout", f"{plain(load.timeout_s)}s"]
        return Command((*words, *(word for line in load.headers for word in ("-header", line)), load.url))

    def other_load(self, output: bytes, connections: int | None, duration_s: float | None) -> Iterator[str]:
        """In an open loop, the percentiles of which its own lateness is much."""
        report = report_of(output)
        lag = None if isinstance(report, str) else report.times.get("lag")
        latency = None if isinstance(report, str) else report.times.get("latency")
        if not lag or not latency:
            return
        for name in JUDGED:
            late_s, took_s = lag.percentiles.get(name), latency.percentiles.get(name)
            if late_s is None or took_s is None or lag.count < least_requests(SHARES[name]):
                continue
            if late_s > MAX_SHIFT * took_s:
                yield f"the client was late by {1000 * late_s:.3g} ms ({name}), latency is {1000 * took_s:.3g} ms"

    def histograms(self, output: bytes) -> Mapping[Timed, Histogram]:
        """Those of its report."""
        report = report_of(output)
        if isinstance(report, str):
            return {}
        of = {name: times.histogram for name, times in report.times.items() if times}
        timed = {}
        if due := of.get("latency"):
            what = Timed.FIRST_EVENT if report.streams else Timed.RESPONSE
            timed[what] = Histogram(of.get("sent", due), due)
        if late := of.get("late"):
            timed[Timed.EVENT] = Histogram(late, late, of.get("waking", {}))
        return timed

    def parse(self, data: bytes) -> Parsed:
        """Parse its report."""
        report = report_of(data)
        if isinstance(report, str):
            return absent(self.name, report, "json")
        count = report.errors.get
        errors: dict[str, Any] = {kind: count(kind, 0) for kind in NOT_COME}
        other = {kind: number for kind in (*WRONG, MISSING) if (number := count(kind, 0))}
        refused = count("status", 0)
        come = report.units + refused + sum(other.get(kind, 0) for kind in WRONG)
        latency = report.times.get("latency")
        return Parsed(
            tool=self.name,
            format="json",
            report="complete",
            requests=come,
            attempts=come + sum(errors.values()) + other.get(MISSING, 0),
            ok=report.units,
            duration_s=report.duration_s,
            errors=Errors(**errors, other=other, non2xx=refused),
            latency_s=_latency(latency) if latency else Latency(),
            bytes_read=report.bytes,
            bytes_exact=True,
            extra=_extra(report),
        )


def _latency(times: StreamTimes) -> Latency:
    return Latency(mean=times.mean, max=times.max, **_given(times, PERCENTILES))


def _given(times: StreamTimes, names: Collection[str]) -> dict[str, float]:
    return {name: value for name, value in times.percentiles.items() if name in names}


def _extra(report: StreamsReport) -> dict[str, Any]:
    """What was agreed on, how streams ended, and its other times (`late`: events from when they were due)."""
    others = {name: times for name, times in report.times.items() if times and name != "latency"}
    spreads = {name: {**_given(times, TAILS), "max": times.max, "count": times.count} for name, times in others.items()}
    streams = {}
    if report.streams:
        streams = {"begun": report.streams.due, "streams": msgspec.to_builtins(report.streams)}
    return {"negotiated": dict(report.negotiated), **streams, **({"times": spreads} if spreads else {})}


def report_of(data: bytes) -> StreamsReport | str:
    """The only report in an output, or why there is none."""
    starts = [match.start() for match in _START.finditer(data)]
    if len(starts) > 1:
        return f"{len(starts)} reports in one output"
    if not starts:
        lines = data[-4096:].decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"no report; the output ends with {clip(repr(last))}"
    try:
        return msgspec.json.decode(data[starts[0] :].partition(b"\n")[0], type=StreamsReport)
    except (ValueError, RecursionError) as problem:
        return f"the report cannot be read: {clip(str(problem))}"

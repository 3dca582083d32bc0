"""The validity rules of a single measurement.

Invalid does not mean slow: an invalid measurement is shown with its causes and never ranked. The rules here read the
tool's output, the plan and the counters of one measurement; those that need other measurements or the host's counters
are in `run_rules`.

A closed loop with a rate (hey's `-q`) is judged by its connections: the rate is only an upper limit, which a slow
server does not reach, so only exceeding it is a deviation from the plan.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from bench.core.programs import KILLED
from bench.exchange import kind_of
from bench.matrix.knobs import CPU_QUOTA
from bench.plan.measurement import Measurement
from bench.records.counters import is_clock_step
from bench.records.evidence import MAX_ERRORS, MIN_SENT, Evidence
from bench.records.record import MEASURED, Cause
from bench.records.turns import MAX_LATE
from bench.tools import TOOLS, attack_s, attempts_of
from bench.tools.parsed import Parsed

OUT_OF_MEMORY, CLOCK = "out of memory", "clock"
"""Causes that come from the kernel and the clocks, not from the tool's figures."""

MAX_LITTLE = 0.20
"""The largest accepted relative difference between connections / goodput and the mean latency."""

_RATE_DIGIT = 0.005

_CLIENT_FAULTS = (
    (re.compile(rb"too many open files", re.I), "too many open files"),
    (re.compile(rb"cannot assign requested address", re.I), "cannot assign requested address"),
    (re.compile(rb"connection refused", re.I), "connection refused"),
    (re.compile(rb"connect: connection reset|connect: connection timed out", re.I), "reset at connect"),
    (
        re.compile(rb"no such host|server misbehaving|unable to resolve|name or service not known|"
                   rb"temporary failure in name resolution", re.I),
        "the server's name could not be resolved",
    ),
)  # fmt: skip


def causes_of(evidence: Evidence) -> tuple[Cause, ...]:
    """The causes why a measurement is invalid by the rules of this module; empty if it is valid."""
    if evidence.outcome != MEASURED:
        first = Cause(evidence.outcome, evidence.detail)
        return (first, *_client_fault(evidence), *_memory(evidence), *_server(evidence), *_clock(evidence))
    rules = (_errors, _client_fault, _load, _memory, _server, _clock, _arithmetic, _output, _late, _changed)
    return tuple(cause for rule in rules for cause in rule(evidence))


def _errors(evidence: Evidence) -> Iterator[Cause]:
    parsed = evidence.parsed
    if parsed is None:
        return
    attempts = attempts_of(evidence.planned.tool, parsed)
    good = parsed.ok_range[1] if parsed.ok is None and parsed.ok_range else parsed.ok
    if attempts is None or good is None:
        return
    bad = attempts - good
    if TOOLS[evidence.planned.tool].counts_late:
        bad = min(attempts, bad + (parsed.errors.timeout or 0))
    if good == 0:
        yield Cause("errors", f"none of {attempts} attempts got a good answer")
    elif bad > MAX_ERRORS * attempts:
        yield Cause("errors", f"{bad} of {attempts} attempts ({bad / attempts:.2%}){_kinds(parsed)}")


def _kinds(parsed: Parsed) -> str:
    kinds = {kind: getattr(parsed.errors, kind) for kind in ("connect", "read", "write", "timeout", "non2xx")}
    listed = ", ".join(f"{kind} {number}" for kind, number in kinds.items() if number)
    return f": {listed}" if listed else ""


def _client_fault(evidence: Evidence) -> Iterator[Cause]:
    seen = [name for pattern, name in _CLIENT_FAULTS if pattern.search(evidence.output)]
    connect = evidence.parsed and evidence.parsed.errors.connect
    if seen:
        yield Cause("client fault", ", ".join(seen) + (f" ({connect} connects failed)" if connect else ""))
    elif connect:
        yield Cause("client fault", f"{connect} connects failed")


def _load(evidence: Evidence) -> Iterator[Cause]:
    parsed = evidence.parsed
    sent = () if parsed is None else _sent(evidence, parsed)
    late = () if evidence.lag is None else evidence.lag.faults()
    planned = evidence.planned
    duration_s = None if planned.stopped else planned.duration_s
    other = TOOLS[planned.tool].other_load(evidence.output, planned.connections, duration_s)
    if details := (*other, *sent, *late):
        yield Cause("load not as requested", "; ".join(details))


def _sent(evidence: Evidence, parsed: Parsed) -> Iterator[str]:
    """Request counts, durations, connections and rates that differ from the plan."""
    planned, sent = evidence.planned, evidence.sent_rate
    attempts = attempts_of(planned.tool, parsed)
    if planned.count is not None and attempts is not None and attempts != planned.count:
        yield f"{attempts} requests instead of {planned.count}{_rounded_count(planned, attempts)}"
    duration = attack_s(planned.rate, parsed)
    if planned.count is None and planned.duration_s is not None and duration is not None:
        # Tools check the time every 0.1 s, then wait for outstanding responses.
        latest = 1.05 * planned.duration_s + 0.2 + (parsed.latency_s.max or 0)
        if planned.stopped:
            # Each turn waits for outstanding responses, and slow services get more turns until their window counts.
            latest = math.inf
        if not 0.98 * planned.duration_s - 0.01 <= duration <= latest:
            yield f"{duration:.4g} s of load instead of {planned.duration_s:g}"
    # A turn, and a load that leads in, may use connections that were opened before it.
    least = MIN_SENT * (parsed.requests or 0) - (planned.connections or 0)
    if not planned.keepalive and evidence.opened is not None and evidence.opened < least:
        few = f"{evidence.opened} connections opened for {parsed.requests} requests"
        yield f"{few}: the service does not close them, although {planned.tool} asks for it"
    if planned.rate is not None and sent is not None:
        too_few = planned.open_loop and sent < MIN_SENT * planned.rate
        # Allow one request more: at low rates it exceeds the relative tolerance.
        if too_few or sent > (2 - MIN_SENT) * planned.rate + (1 / duration if duration else 0):
            yield f"{sent:.6g} requests/s sent instead of {planned.rate:g}"


def _rounded_count(planned: Measurement, attempts: int) -> str:
    count, connections = planned.count, planned.connections
    if not count or not connections or attempts != TOOLS[planned.tool].requests_of(count, connections):
        return ""
    return f" ({planned.tool} sends {attempts // connections} on each of {connections} connections)"


def _memory(evidence: Evidence) -> Iterator[Cause]:
    if killed := evidence.oom_kills:
        processes = "a process was" if killed == 1 else f"{killed} processes were"
        yield Cause(OUT_OF_MEMORY, f"{processes} killed by the kernel at the container's memory limit")


def _clock(evidence: Evidence) -> Iterator[Cause]:
    step_s = evidence.clock_step_s or 0.0
    if is_clock_step(step_s, evidence.wall_s or 0.0):
        way = "forward" if step_s > 0 else "back"
        yield Cause(CLOCK, f"the time of day was set {way} by {abs(step_s):.4g} s under load: tools measure time by it")


def _server(evidence: Evidence) -> Iterator[Cause]:
    details = []
    if evidence.restarts:
        details.append(f"restarted {evidence.restarts} times")
    if evidence.lost and not evidence.stopped:
        details.append(f"lost {evidence.lost} of its processes")
    if evidence.stopped:
        details.append("its container was down after the load")
    # Throttling is intended with --vary CPU_QUOTA.
    if evidence.throttled_s and CPU_QUOTA not in evidence.planned.settings:
        details.append(f"throttled for {evidence.throttled_s:.3g} s")
    if evidence.health:
        details.append(f"health check after the load: {evidence.health}")
    if details:
        yield Cause("server", "; ".join(details))


def _arithmetic(evidence: Evidence) -> Iterator[Cause]:
    parsed = evidence.parsed
    if parsed is None:
        return
    if details := (*_rates(evidence, parsed), *_counts(evidence.planned, parsed), *_little(evidence, parsed)):
        yield Cause("arithmetic", "; ".join(details))


def _rates(evidence: Evidence, parsed: Parsed) -> Iterator[str]:
    """Requests, duration and rate must agree within the precision of the printed digits."""
    tool, duration, rate = evidence.planned.tool, parsed.duration_s, parsed.rps
    counted = TOOLS[tool].counted_in_rate(parsed)
    if counted is not None and duration is not None and rate is not None:
        digit = TOOLS[tool].duration_digit(duration)
        most = counted / (duration - digit) if duration > digit else float("inf")
        least = counted / (duration + digit) if duration + digit > 0 else 0.0
        if not 0.999 * least - _RATE_DIGIT <= rate <= 1.001 * most + _RATE_DIGIT:
            yield f"{counted} requests in {duration:.6g} s are not {rate:.6g} per second"
    if evidence.wall_s is not None and duration is not None and duration > 1.01 * evidence.wall_s + 0.05:
        yield f"{duration:.4g} s of load in {evidence.wall_s:.4g} s by the clock"


def _counts(planned: Measurement, parsed: Parsed) -> Iterator[str]:
    """No part may exceed the whole, and percentiles must not decrease."""
    status, requests = parsed.errors.status, parsed.requests
    if requests is not None:
        parts = (parsed.ok or 0) + (parsed.errors.non2xx or 0)
        if parts > requests:
            yield f"{parsed.ok} good and {parsed.errors.non2xx} bad answers among {requests}"
        if parsed.attempts is not None and parsed.attempts < requests:
            yield f"{requests} answers to {parsed.attempts} attempts"
    if TOOLS[planned.tool].all_have_status and status is not None and sum(status.values()) != parsed.attempts:
        yield f"{sum(status.values())} results by status, {parsed.attempts} requests"
    known = [(key, getattr(parsed.latency_s, key)) for key in ("min", "p50", "p75", "p90", "p95", "p99", "max")]
    rising = [(key, value) for key, value in known if value is not None]
    slack = 2 * TOOLS[planned.tool].latency_digit_s
    for (low_key, low), (high_key, high) in pairwise(rising):
        if low > 1.01 * high + slack:
            yield f"latency {low_key} {low:.4g} s is above {high_key} {high:.4g} s"


def _little(evidence: Evidence, parsed: Parsed) -> Iterator[str]:
    """Little's law for a closed loop: connections = goodput x mean latency."""
    planned, goodput, mean = evidence.planned, evidence.goodput, parsed.latency_s.mean
    if planned.connections is None or not goodput or mean is None or not parsed.requests:
        return
    if not kind_of(planned.exchange).one_at_a_time:
        return
    expected = planned.connections / goodput
    # When it stops, the tool waits for requests in flight, but does not count them: up to one per connection.
    slack = (MAX_LITTLE + planned.connections / parsed.requests) * expected + TOOLS[planned.tool].latency_digit_s
    # Against the null server the tool is the bottleneck: a connection also waits while the tool handles others, and the
    # tool does not count that as latency.
    bound = planned.mode == "null"
    tool_s = planned.connections * (evidence.tool_cpu_s or 0.0) / parsed.requests if bound else 0.0
    untimed = not TOOLS[planned.tool].times_opening and (planned.exchange.encrypted or not planned.keepalive)
    too_long = mean > expected + slack and not TOOLS[planned.tool].adds_samples
    # With a rate limit, connections pause between requests, so the latency may be lower, but not higher. The same goes
    # for connections that are opened in the meantime, and for the handshakes of TLS, which can take long at once.
    too_short = mean < expected - slack - tool_s and planned.rate is None and not untimed
    if too_long or too_short:
        law = f"{planned.connections} connections at {goodput:.6g}/s take {expected:.4g} s each"
        yield f"{law}, mean latency is {mean:.4g} s"


def _output(evidence: Evidence) -> Iterator[Cause]:
    parsed = evidence.parsed
    details = list(evidence.faults)
    if parsed is None:
        details.append("no output was saved")
    elif parsed.report != "complete":
        details.append(f"{parsed.report}: {parsed.failure or 'unknown reason'}")
    elif parsed.ok is None:
        details.append(f"does not say how many answers were good: {_between(parsed)}")
    if evidence.planned.in_block and evidence.turns is None:
        details.append("tool.json does not say what its turns were")
    if evidence.exit_status is None:
        details.append("the tool's exit status was not saved")
    elif evidence.exit_status:
        killed = " (killed, as it did not end by itself)" if evidence.exit_status in KILLED else ""
        details.append(f"the tool ended with exit status {evidence.exit_status}{killed}")
    if details:
        yield Cause("output", "; ".join(details))


def _late(evidence: Evidence) -> Iterator[Cause]:
    turns = evidence.turns
    if turns and turns.late > MAX_LATE * turns.count:
        words = f"after {turns.late} of {turns.count} turns, responses came that the turn had not waited for"
        yield Cause("late responses", f"{words}: they are counted, but their time is not")


def _changed(evidence: Evidence) -> Iterator[Cause]:
    if evidence.changes:
        yield Cause("changed", f"{'; '.join(evidence.changes)} after the measurement (by its sha256 in meta.json)")


def _between(parsed: Parsed) -> str:
    if parsed.ok_range is None:
        return "no count at all"
    return f"between {parsed.ok_range[0]} and {parsed.ok_range[1]} of {parsed.requests}"

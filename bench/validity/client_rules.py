"""The validity rules where several load generators made a load: those of one, for each of them, and that they began
together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.records.clients import Together
from bench.records.record import MEASURED, Cause
from bench.tools import TOOLS, parse
from bench.validity.measurement_rules import causes_of
from bench.validity.run_rules import BOUND, MAX_BUSY, NoiseLimits

SKEW = "not together"
MAX_SKEW = 0.05
"""The largest part of the load's duration by which load generators may start apart."""


def causes_of_clients(found: Together, limits: NoiseLimits) -> tuple[Cause, ...]:
    """The causes why the measurement is not valid; those of a load generator begin with its number."""
    whole = found.whole
    details: dict[str, list[str]] = {"output": [*whole.faults]} if whole.outcome == MEASURED and whole.faults else {}
    # Its load and output are judged for each; what is left is the server's, and the files'.
    for cause in causes_of(replace(whole, parsed=None, output=b"", exit_status=0)):
        if cause.cause != "output":
            details.setdefault(cause.cause, []).append(cause.detail)
    for number, part in enumerate(found.parts, 1):
        for cause in causes_of(part.evidence):
            if cause.cause != whole.outcome:
                details.setdefault(cause.cause, []).append(f"client {number}: {cause.detail}")
    if whole.outcome == MEASURED:
        for name, detail in (*_started(found), *_report(found), *_saturated(found, limits)):
            details.setdefault(name, []).append(detail)
    return tuple(Cause(name, "; ".join(texts)) for name, texts in details.items())


def _started(found: Together) -> Iterator[tuple[str, str]]:
    """Sums are of one load only if all of it is there at once."""
    duration = found.whole.planned.duration_s
    if found.skew_most_s is None or duration is None:
        yield SKEW, "it is not known when each load generator started"
    elif found.skew_most_s > MAX_SKEW * duration:
        yield (
            SKEW,
            f"load generators started up to {found.skew_most_s:.3g} s apart, which is more than {MAX_SKEW:.0%} of "
            f"{duration:g} s",
        )


def _report(found: Together) -> Iterator[tuple[str, str]]:
    """The tool's own report of all results must have as many as the sum."""
    whole = found.whole
    if not TOOLS[whole.planned.tool].merges_reports or whole.parsed is None:
        return
    output = found.raw.output
    merged = None if output is None else parse(whole.planned.tool, output)
    if merged is None or merged.report != "complete":
        yield "output", f"the report of all load generators: {merged.failure if merged else 'was not saved'}"
    elif merged.attempts != whole.parsed.attempts:
        yield (
            "arithmetic",
            f"{merged.attempts} requests in the report of all load generators, {whole.parsed.attempts} of each",
        )


def _saturated(found: Together, limits: NoiseLimits) -> Iterator[tuple[str, str]]:
    """Load generators that could have sent no more, whatever the others had left."""
    if found.whole.planned.mode == "null":
        return
    tool = found.whole.planned.tool
    for number, part in enumerate(found.parts, 1):
        if part.busy_ratio is not None and part.busy_ratio > MAX_BUSY:
            yield BOUND, f"client {number}: {tool}'s CPUs were {part.busy_ratio:.1%} busy"
        if part.wait_ratio is not None and part.wait_ratio > limits.wait:
            yield BOUND, f"client {number}: {tool} waited for a CPU {part.wait_ratio:.1%} of the window"
    for numbers, busy in found.shared_busy.values():
        if busy > MAX_BUSY:
            yield BOUND, f"clients {', '.join(map(str, numbers))}: the CPUs that they share were {busy:.1%} busy"

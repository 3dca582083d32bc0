"""What became of a measurement, and of its service after the window."""

from __future__ import annotations

from typing import Any

from bench.core.files import mapping
from bench.plan.measurement import Measurement
from bench.records.record import Outcome
from bench.run.reader import Raw, ServiceFacts

NOT_RUN = "not run"
CUT_OFF = "cut off"
KILLED = "killed at its container's memory limit"
"""What became of a service, in a detail; the cause has a name of its own (bench/validity/measurement_rules.py)."""


def outcome_of(raw: Raw, service: ServiceFacts) -> tuple[str, str]:
    """(outcome of the measurement, details in one line)."""
    if raw.meta is not None:
        outcome, detail = str(raw.meta.get("outcome")), one_line(raw.meta.get("detail"))
        return (outcome, detail) if outcome in {*Outcome} else (CUT_OFF, "meta.json does not say what the outcome was")
    if service.failure is not None:
        return service.failure
    if raw.started:
        return CUT_OFF, "no complete meta.json: the run was stopped during this measurement, or is still in it"
    return NOT_RUN, "the run was stopped before this measurement, or has not reached it yet"


def health_fault(planned: Measurement, after: Any) -> str | None:
    """The fault of the health check after the window; None if there was none, or no check."""
    answer = mapping(after)
    status = answer.get("status")
    if not answer or (isinstance(status, int) and planned.exchange.is_good(status)):
        return None
    return one_line(answer.get("error") or "no answer") if status is None else f"status {one_line(status)}"


def one_line(value: Any) -> str:
    """The value as one line of at most 300 characters."""
    text = " ".join(str(value).split()) if value else ""
    return text[:300] or "no detail was saved"

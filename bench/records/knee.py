"""The trials of a search for a knee, and the figures of a record that come from knee.json."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import Meta

from bench.core.typed import read_or_none
from bench.plan.measurement import Measurement
from bench.records.evidence import MAX_BUSY, MAX_ERRORS, MIN_SENT, Evidence
from bench.tools.parsed import Parsed
from bench.tools.send_lag import Lag, least_requests

LIMITS = 25
"""A trial lasts at least this many times the p99 limit."""
REQUESTS = least_requests(0.99)
"""Minimum number of requests in a trial."""
CONFIRMATIONS = 3
"""Number of later rounds in which the rate must hold."""

CLIENT = "client"
"""The value of `ended_by` in knee.json if the load generator, not the server, ended the search."""
NOT_HELD = "did not hold"
NO_SEARCH = "the level is not a search for a knee"
_CLIENT = re.compile(rb"too many open files|cannot assign requested address", re.I)


@dataclass(frozen=True, slots=True)
class Trial:
    """One attack: share of the rate that was sent, share of errors, p99 in seconds; None if there is no output.

    - `client`: other faults of the load generator.
    - `due_p99_s`: p99 counted from when requests were due. If only this exceeds the limit, the load generator was late;
      lag within the limit does no harm here, unlike in a table of latencies.
    - `noise`: whether other programs or the hypervisor took more than the run's limits allow.
    - `busy`: share of its CPUs that the load generator used; above `MAX_BUSY`, p99 says nothing about the server.
    """

    rate: int
    sent_ratio: float | None
    error_ratio: float | None
    p99_s: float | None
    client: tuple[str, ...] = ()
    due_p99_s: float | None = None
    noise: bool = False
    busy: float | None = None

    @property
    def is_client_bound(self) -> bool:
        """Whether the load generator had almost no CPU time left."""
        return self.busy is not None and self.busy > MAX_BUSY

    def server_faults(self, limit_s: float) -> Iterator[str]:
        """The limits that the server exceeded."""
        if self.p99_s is not None and self.p99_s > limit_s and not self.is_client_bound:
            yield f"p99 {1000 * self.p99_s:.3g} ms"
        if self.error_ratio is not None and self.error_ratio > MAX_ERRORS:
            yield f"{self.error_ratio:.2%} errors"

    def client_faults(self, limit_s: float) -> Iterator[str]:
        """How the load generator failed to generate the target load."""
        if self.p99_s is None or self.error_ratio is None:
            yield "too few requests for a p99"
        if self.p99_s is not None and self.due_p99_s is not None and self.p99_s <= limit_s < self.due_p99_s:
            yield f"p99 {1000 * self.due_p99_s:.3g} ms from when requests were due, {1000 * self.p99_s:.3g} ms as sent"
        if self.sent_ratio is not None and self.sent_ratio < MIN_SENT:
            yield f"{self.sent_ratio:.1%} of the rate sent"
        if self.busy is not None and self.is_client_bound:
            yield f"its CPUs were {self.busy:.0%} busy"
        yield from self.client

    def faults(self, limit_s: float) -> list[str]:
        """Why the rate does not hold; empty if it does."""
        return [*self.server_faults(limit_s), *self.client_faults(limit_s)]


def trial_of(rate: int, parsed: Parsed | None, lag: Lag | None, output: bytes = b"") -> Trial:
    """The trial from vegeta's report and its lag; `output` is the raw text of the report."""
    if parsed is None or lag is None or not parsed.attempts or parsed.ok is None:
        return Trial(rate, None, None, None)
    attack = (parsed.extra or {}).get("attack_s")
    sent = parsed.attempts / (attack + 1 / rate) if isinstance(attack, int | float) else None
    client = [*lag.shortage(), *(["too many open files, or no port left"] if _CLIENT.search(output) else [])]
    enough = parsed.attempts >= REQUESTS * MIN_SENT
    return Trial(
        rate,
        None if sent is None else sent / rate,
        1 - parsed.ok / parsed.attempts,
        lag.as_sent_s["p99"] if enough else None,
        tuple(client),
        lag.from_schedule_s["p99"] if enough else None,
    )


@dataclass(frozen=True, slots=True)
class Knee:
    """What loads and figures need of a knee.json: the rate, and how long it is loaded.

    `reason`: why it is no knee; `found_in`: where it was found, if not here; `share`: it is this share of the knee.
    """

    rate: Annotated[int, Meta(gt=0, lt=10**9)]
    seconds: Annotated[int, Meta(gt=0, lt=10**9)]
    reason: str | None = None
    found_in: str | None = None
    ended_by: str | None = None
    share: float | None = None

    @property
    def found_here(self) -> bool:
        """Whether its own search found it."""
        known = self.reason is None or self.client_limit is not None
        return known and self.found_in is None and self.share is None

    @property
    def client_limit(self) -> int | None:
        """The rate at which the load generator ended the search (the server's knee is higher); None if it did not."""
        return self.rate if self.ended_by == CLIENT else None


def read_knee(facts: Mapping[str, Any] | None) -> Knee | None:
    """The content of a knee.json; None if it is missing or malformed."""
    return read_or_none(Knee, facts)


def as_searched(planned: Measurement, knee: Knee | None) -> Measurement:
    """`planned` with the rate and duration that a search for a knee found."""
    return replace(planned, rate=knee.rate, duration_s=knee.seconds) if knee else planned


def knee_figure(evidence: Evidence, knee: Knee | None, absent: str) -> tuple[float | None, str]:
    """(the knee that this measurement found or confirmed, the reason if None)."""
    planned = evidence.planned
    if planned.knee_p99_s is None or (knee and knee.share is not None):
        return None, NO_SEARCH
    if knee is None:
        return None, absent
    reason = knee.reason
    if reason is None and knee.found_in is not None:
        reason = _why_not(evidence, planned.knee_p99_s, knee)
    return (knee.rate, "") if reason is None else (None, reason)


def _why_not(evidence: Evidence, limit_s: float, knee: Knee) -> str | None:
    """Why a later round does not confirm the knee; None if it does."""
    trial = trial_of(knee.rate, evidence.parsed, evidence.lag, evidence.output)
    if faults := trial.faults(limit_s):
        return f"{NOT_HELD}: {', '.join(faults)}"
    return f"client-limited at {knee.rate}/s: the server's knee is higher" if knee.client_limit else None

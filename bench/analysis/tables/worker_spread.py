"""How the CPU time of a service spreads over its worker processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from bench.core.files import mapping
from bench.plan.measurement import settings_of
from bench.records.record import MEASURED, Record

LEAST_S = 0.1
"""Ten clock ticks: of less CPU time, shares would mean nothing."""
UNEVEN = 1.5
"""From so many times its even share on, the busiest worker has an uneven one."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean shares of the workers over the windows, the busiest first."""

    shares: tuple[float, ...]

    @property
    def uneven(self) -> bool:
        """Whether one worker had much more than its even share."""
        return self.shares[0] * len(self.shares) > UNEVEN


def workers_of(record: Record, knobs: Mapping[str, Any]) -> int:
    """How many worker processes the service of a record was started with."""
    text = settings_of(record.settings).get("WORKERS") or str(mapping(knobs).get("WORKERS") or "1")
    return int(text) if text.isascii() and text.isdigit() else 1


def spread_of(records: Iterable[Record], knobs: Mapping[str, Any]) -> Spread | None:
    """The spread in the records of one service; None if it has one worker, or too little CPU time was counted.

    A service has other processes too (a parent, an init): its workers are as many as were asked for, those that used
    most CPU time. A worker that did nothing counts with nothing.
    """
    found: list[list[float]] = []
    for record in records:
        workers = workers_of(record, knobs)
        used = [*(record.process_cpu_s or ())][:workers]
        if record.outcome == MEASURED and workers > 1 and sum(used) >= LEAST_S:
            used += [0.0] * (workers - len(used))
            found.append([one / sum(used) for one in used])
    if not found or len({len(shares) for shares in found}) > 1:
        return None
    return Spread(tuple(fmean(shares) for shares in zip(*found, strict=True)))

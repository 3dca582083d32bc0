"""Causes that count against a measurement, but leave some of its figures valid."""

from __future__ import annotations

from collections.abc import Collection

from bench.records.record import Cause, Record
from bench.validity.run_rules import BOUND

HOST, ASKED, ARITHMETIC = "host", "load not as requested", "arithmetic"
HARMLESS_TO_MEANS = frozenset({HOST, BOUND})
"""The window counts all the same, since leaving it out would select by outcome. Noise affects all services of a window
in turns equally; requests/s that the load generator limits are a lower bound. Neither changes CPU time per request."""
HARMLESS_TO_LATENCY = frozenset({HOST, ASKED})
"""Noise is in how the rounds differ. What the client sent late counts from when it was due, what it never sent as above
all others."""
HARMLESS_TO_KNEES = frozenset({HOST, ASKED})
"""Trials check the sent load themselves, and noise only makes a knee harder to reach."""
HARMLESS_TO_PROFILES = frozenset({ASKED, ARITHMETIC})
"""Neither affects a window's CPU time or its good answers."""


def causes_beside(record: Record, harmless: Collection[str]) -> list[Cause]:
    """The causes against a record, except `harmless` ones."""
    return [cause for cause in record.causes if cause.cause not in harmless]

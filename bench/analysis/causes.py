"""Which causes against a measurement leave a figure of it as it is."""

from __future__ import annotations

from collections.abc import Collection

from bench.records.record import Cause, Record
from bench.validity.run_rules import BOUND

HOST, ASKED, ARITHMETIC = "host", "not the asked load", "arithmetic"
HARMLESS_TO_RATES = frozenset({HOST})
"""Noise affects all services of a window in turns equally."""
HARMLESS_TO_CPU = frozenset({HOST, BOUND})
"""A cgroup's CPU time leaves out what other programs took, and what a request costs does not depend on the rate."""
HARMLESS_TO_LATENCY = frozenset({HOST})
"""Noise is in the intervals, which are from what differs between rounds."""
HARMLESS_TO_BOUNDS = frozenset({HOST, ASKED})
"""An upper bound counts from when requests were due, and those that were not sent as above it."""
HARMLESS_TO_KNEES = frozenset({HOST, ASKED})
"""Trials check the sent load themselves, and noise only makes a knee harder to reach."""
HARMLESS_TO_PROFILES = frozenset({ASKED, ARITHMETIC})
"""They say nothing against a window's CPU time and its good answers."""


def causes_beside(record: Record, harmless: Collection[str]) -> list[Cause]:
    """The causes against a record, without the `harmless` ones."""
    return [cause for cause in record.causes if cause.cause not in harmless]

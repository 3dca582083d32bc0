"""The first worker must get its share of the connections, to within one, and its share of the requests."""

from __future__ import annotations

from collections.abc import Iterator

from bench.events.balance.figures import connections_of
from bench.records.event import EventRecord
from calibration.checks import Check, EventChecks, Known, exactly

SHARE_OFF = 0.05
"""Allowed error of the share of requests, as connections are not used equally."""


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
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


# Some requests only find out which worker a new connection has.
KNOWN = EventChecks(_checks, aside="opened")

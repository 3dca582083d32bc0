"""All but some WebSockets or streams are told that they end."""

from __future__ import annotations

from collections.abc import Iterator

from bench.records.event import EventRecord
from calibration.checks import Check, EventChecks, Known, exactly, within


def _checks(record: EventRecord, known: Known) -> Iterator[Check]:
    opened, word = record.extras["streams"], "complete" if "streams" in str(record.case) else "1012"
    assert isinstance(opened, int)
    yield exactly("streams that were not taken", 0, record.extras["streams_refused"])
    yield exactly("streams that were told", opened - known.untold, record.extras["streams_told"])
    yield exactly("what they were told", word, record.extras["streams_word"])
    yield exactly("streams that were closed", opened, record.extras["streams_closed"])
    yield within(record, "until it ended", known.exit_s, record.exit_s)


KNOWN = EventChecks(_checks)

"""Events with a known outcome: services/frameworks/synthetic/bad_day.py does exactly what its BAD_DAY says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qsl

from bench.core.errors import UserError
from bench.core.formats import markdown_table
from bench.events import of_event
from bench.matrix.load import load_matrix
from bench.records.event import EventRecord
from bench.records.file import read_events
from bench.run.facts import read_run_facts
from calibration.checks import Check, EventChecks, Known, exactly
from calibration.report import verdict

APP = "synthetic-bad-day"
NONE = EventChecks()
HEADS = ("server", "event", "figure", "truth", "measured", "")


def known_of(text: str) -> Known:
    """Parses a BAD_DAY."""
    return Known(**{name: float(value) for name, value in parse_qsl(text, strict_parsing=True)})


def checks(record: EventRecord, known: Known) -> list[Check]:
    """All checks of this record."""
    of_kind = of_event(record.event, "known", NONE)
    counts = "yes" if record.counts else record.detail or "; ".join(record.causes)
    results = [exactly("window counts", "yes", counts)]
    if record.sent is None or record.window_s is None:
        return results
    if record.rate is not None and of_kind.scheduled:
        # Compare with the number of requests that were due by the schedule, so that one missing in the log is noticed.
        aside, after = (int(record.extras.get(name) or 0) for name in (of_kind.aside, "sent_after"))
        due = round(record.window_s * record.rate) + 1 + aside + (record.extras.get("long_fate") is not None)
        results.append(exactly("requests in the log", due, record.sent + after))
    return [*results, *of_kind.checks(record, known)]


def events(folders: Sequence[str]) -> tuple[str, bool]:
    """(table, whether it holds): each figure of each event of these runs against its true value."""
    found = [(folder, record) for folder in folders for record in read_events(Path(folder))]
    records = [record for folder, record in found if _is_known(folder, record)]
    if not records:
        raise UserError(f"{folders[0]} has no event of {APP}")
    apps = load_matrix().selftests
    return report(records, {name: known_of(apps[name].environment["BAD_DAY"] or "") for name in apps if APP in name})


def _is_known(folder: str, record: EventRecord) -> bool:
    return APP in record.service and record.service in read_run_facts(folder).services


def report(records: Sequence[EventRecord], known: Mapping[str, Known]) -> tuple[str, bool]:
    """As `events`, of these records; `known` is by app."""
    rows: list[list[str]] = []
    seen: Mapping[str, list[Check]] = {record.id: checks(record, known[record.framework]) for record in records}
    for record in records:
        name = f"{record.event}, {record.case}" if record.case else record.event
        rows += [
            [record.framework, name, one.what, one.truth, one.measured, verdict(one.holds)] for one in seen[record.id]
        ]
    return markdown_table(HEADS, rows), all(one.holds for every in seen.values() for one in every)

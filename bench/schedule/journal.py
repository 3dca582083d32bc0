"""What a run has measured so far: one line for each measurement with a meta.json, and for each step that was tried.

The journal saves each call from reading all raw files. It has nothing that they do not have: it is rebuilt from them
when measuring begins or resumes, and never outlives the call of scripts/matrix.sh that made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.tables.judge import looks_reached, settled_tables
from bench.core.files import mapping, write_file
from bench.core.typed import decoded, encoded
from bench.plan.measurement import Measurement
from bench.records.event import EventRecord
from bench.records.make_event import event_record
from bench.records.record import MEASURED, Record
from bench.run.reader import Raw, Run, read_raw, read_service
from bench.schedule.steps import Step
from bench.tools.levels import LoadKey
from bench.validity.measurement_rules import CLOCK
from bench.validity.run_records import judged_record
from bench.validity.run_rules import apply_run_rules, noise_limits_of, noise_of

FILE = "journal.jsonl"
TRIED, DONE, FAILED = "tried", "done", "failed"
OPEN, SETTLED = "open", "settled"
"""Results of a look at a table in turns; these lines have the table and the look instead of a measurement."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the journal. It has the measurement's record if a later verdict or limit needs it."""

    kind: str
    id: str
    record: Record | None = None

    def text(self) -> str:
        """The line in the file."""
        return f"{encoded(self).decode()}\n"


def rebuild(source: Run) -> None:
    """Write the journal again from the run's raw files."""
    found = ((one, read_raw(source.path, one)) for one in source.planned)
    lines = [_line(one, raw, _record(source, one, raw) if _keeps(one) else None) for one, raw in found if raw.meta]
    write_file(Path(source.path) / FILE, "".join(line.text() for line in lines))


def append(source: Run, step: Step) -> list[Record]:
    """Note that a step was tried, and its measurements; returns their records, before the rules of the whole run."""
    found = [(one, read_raw(source.path, one)) for one in source.planned if one.id in step.ids]
    made = {one.id: _record(source, one, raw) for one, raw in found if not one.event}
    lines = [_line(one, raw, made[one.id] if _keeps(one) else None) for one, raw in found if raw.meta]
    with (Path(source.path) / FILE).open("a") as file:
        # A block is noted measurement by measurement, because some of its tables may have been postponed.
        tried = step.ids if step.in_block else (step.id,)
        file.writelines(line.text() for line in (*lines, *(Line(TRIED, name) for name in tried)))
    return [*made.values()]


def events(source: Run, step: Step) -> list[EventRecord]:
    """The records of a step whose services are under an event; empty for other steps."""
    return [event_record(source.path, one, read_raw(source.path, one)) for one in step.lines if one.event]


def noise(source: Run, step: Step) -> str:
    """What else used the host, or set its clock, during a step of one measurement; empty if negligible."""
    limits = noise_limits_of(source.facts.knobs)
    record = _record(source, step.first, read_raw(source.path, step.first))
    if record.knee_rate is not None:
        # Noise makes a rate harder to hold, and the service held it.
        return ""
    return noise_of(record, limits) or next((one.detail for one in record.causes if one.cause == CLOCK), "")


def read(run: str) -> list[Line]:
    """The lines of the journal."""
    return [decoded(Line, line) for line in (Path(run) / FILE).read_bytes().splitlines()]


def records(lines: Iterable[Line], modes: tuple[str, ...]) -> list[Record]:
    """The records of measurements of these modes."""
    return [line.record for line in lines if line.record and line.record.mode in modes]


def settled(source: Run, lines: Sequence[Line]) -> set[LoadKey]:
    """The tables in turns that need no more rounds, because all of their contrasts are decided.

    Judging a look takes a second, so it is done once and noted.
    """
    reviewed_records = reviewed(source, records(lines, ("turns", "null")))
    looks = {key: f"{key} {look}" for key, look in looks_reached(source.facts, reviewed_records).items()}
    known = {line.id: line.kind for line in lines if line.kind in (OPEN, SETTLED)}
    due = {key for key, look in looks.items() if look not in known}
    if due:
        ended = settled_tables(source.facts, [one for one in reviewed_records if one.load in due])
        known |= (new := {looks[key]: SETTLED if key in ended else OPEN for key in due})
        with (Path(source.path) / FILE).open("a") as file:
            file.writelines(Line(kind, look).text() for look, kind in new.items())
    return {key for key, look in looks.items() if known[look] == SETTLED}


def reviewed(source: Run, found: list[Record]) -> list[Record]:
    """The records, with causes added that show only in all of them together."""
    return apply_run_rules(found, source.facts)


def _line(planned: Measurement, raw: Raw, record: Record | None) -> Line:
    kind = DONE if mapping(raw.meta).get("outcome") == MEASURED else FAILED
    return Line(kind, planned.id, record)


def _keeps(planned: Measurement) -> bool:
    """Whether a line keeps its record: neither events nor services measured alone have verdicts or limits later."""
    return not planned.event and planned.mode != "solo"


def _record(source: Run, planned: Measurement, raw: Raw) -> Record:
    return judged_record(planned, raw, read_service(source.path, planned.service))

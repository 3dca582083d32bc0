"""The progress of a run: the result of each step, and a line that is redrawn or a log line per finished step.

A step is judged by the report's parsers and validity rules, but only from itself and the null server's measurements so
far: the report may reject more, never less.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bench.core.formats import number, printable
from bench.plan.measurement import IN_BLOCKS
from bench.records.event import EventRecord
from bench.records.record import Record
from bench.run.facts import RunFacts
from bench.schedule.steps import Step

NOTHING_KNOWN = RunFacts()
LONGEST, MOST_SERVICES = 160, 3
"""The most characters of `LiveStatus.words`, and the most services whose figures they have."""


@dataclass(frozen=True, slots=True)
class LiveStatus:
    """The result of a step: `words` has the goodput if valid, else the first cause; `short` has no details."""

    valid: bool
    words: str
    short: str


NOT_LOADED = LiveStatus(False, "not loaded", "not loaded")
"""The result of a step with a service that was not verified."""


def live_status(records: Iterable[Record], facts: RunFacts = NOTHING_KNOWN) -> LiveStatus:
    """Pure: the goodput of one measurement, or how many windows of a block are valid."""
    step_records = list(records)
    if step_records and step_records[0].mode in IN_BLOCKS:
        return _of_block(step_records, facts)
    (record,) = step_records
    if not record.valid:
        cause = record.causes[0]
        short = _shown(f"invalid: {cause.cause}")
        return LiveStatus(False, _shown(f"invalid: {cause.cause}: {cause.detail}"), short)
    words = f"{number(record.goodput)} {_unit(record, facts)}s/s" if record.goodput else "no figure"
    return LiveStatus(True, words, words)


def event_status(records: Sequence[EventRecord]) -> LiveStatus:
    """The requests lost under events, or why the first event that does not count does not."""
    counted = [record for record in records if record.counts]
    lost, sent = sum(record.lost for record in counted), sum(record.sent or 0 for record in counted)
    words = f"lost {lost:,} of {sent:,}" if counted else ""
    if len(counted) == len(records):
        return LiveStatus(True, words, words)
    record = next(record for record in records if not record.counts)
    reason = record.detail or next(iter(record.causes), "") or record.unaccounted or "the event was not observed"
    if len(records) > 1:
        some = f"{len(records) - len(counted)} of {len(records)} do not count"
        short = "; ".join(filter(None, (words, some)))
        return LiveStatus(False, _shown(f"{short}; {record.service}: {reason}"), short)
    words = _shown(f"does not count: {reason}")
    return LiveStatus(False, words, words)


def _unit(record: Record, facts: RunFacts) -> str:
    return facts.kind_of(record.scenario).rated


def _of_block(records: Sequence[Record], facts: RunFacts) -> LiveStatus:
    """How many windows of a block are valid, and why the first of the others is not."""
    refused = [record for record in records if not record.valid]
    words = f"{len(records) - len(refused)} of {len(records)} windows valid"
    if not refused:
        return LiveStatus(True, _shown(words + _so_far(records, facts)), words)
    cause = refused[0].causes[0]
    detail = f"{words}; {refused[0].service} {refused[0].scenario}: {cause.cause}: {cause.detail}"
    return LiveStatus(False, _shown(detail), words)


def _so_far(records: Sequence[Record], facts: RunFacts) -> str:
    """`; requests/s: bjoern-wsgi-py313-debian 80,266, ...`: the first of this round, without a verdict."""
    unit = _unit(records[0], facts)
    loaded = [record for record in records if record.mode == "turns" and _unit(record, facts) == unit]
    served = [(record.goodput, record.service) for record in loaded if record.goodput]
    first = sorted(served, reverse=True)[:MOST_SERVICES]
    return f"; {unit}s/s: {', '.join(f'{service} {number(rate)}' for rate, service in first)}" if first else ""


def _shown(text: str) -> str:
    """`text` on one line, without characters that control a terminal."""
    shown = printable(" ".join(text.split()), "?")
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


RED, PLAIN = "\033[31m", "\033[0m"


@dataclass(frozen=True, slots=True)
class Screen:
    """Where progress is shown; `columns`: the width of a terminal on which a line is redrawn, 0 for a log."""

    quiet: bool = False
    columns: int = 0
    colour: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of steps, expected seconds of those done (`spent`) and to do (`left`), and when the first one began.

    `ends`: when the run stops at the latest; None without a limit.
    """

    began: float
    count: int = 0
    done: int = 0
    not_valid: int = 0
    left: float = 0.0
    spent: float = 0.0
    last: str = ""
    ends: float | None = None

    def after(self, step: Step, status: LiveStatus) -> Progress:
        """The progress after this step."""
        done, not_valid = self.done + 1, self.not_valid + (not status.valid)
        left, spent = self.left - step.seconds, self.spent + step.seconds
        return replace(self, done=done, not_valid=not_valid, left=left, spent=spent, last=status.short)

    def expected(self, seconds: float, now: float) -> float:
        """How many planned seconds fit into `seconds`, judging by how long the steps done really took."""
        real = now - self.began
        return seconds * self.spent / real if self.spent and real > 0 else seconds

    def time_left(self, now: float) -> str:
        """Minutes and seconds left, by the plan and how long the steps done really took; at most to `ends`."""
        seconds = self.left * (now - self.began) / self.spent if self.spent else self.left
        if self.ends is not None:
            seconds = max(0.0, min(seconds, self.ends - now))
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"

    def log_line(self, step: Step, status: LiveStatus, now: float) -> str:
        """The step that has just ended, for a log."""
        done = f"[{self.done}/{self.count}] {step.label}: {status.words}"
        return f"{done}; {self.not_valid} not valid, {self.time_left(now)} left"

    def drawing(self, now: float, under_load: str, screen: Screen) -> str:
        """The progress on one line of the terminal; the colour adds no information."""
        bad = f"{self.not_valid} not valid"
        line = f"[{self.done}/{self.count}] {self.time_left(now)} left, {bad}"
        line += (f", last {self.last}" if self.last else "") + (f" | now {under_load}" if under_load else "")
        line = line[: screen.columns - 1]
        return line.replace(bad, RED + bad + PLAIN) if self.not_valid and screen.colour else line

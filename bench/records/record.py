"""The record of one measurement: what was measured, the result, and whether it is valid.

A run's records are JSON Lines in plan order; the keys of a line are the fields of `Record`, in their order. A missing
figure is null with its reason in `nulls`; a `Record` that breaks this rule cannot be constructed. Readers must refuse
a line whose `schema` is not `SCHEMA`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, TypeVar

from bench.core.files import as_object
from bench.records.types import wrong_types
from bench.tools import TOOLS

R = TypeVar("R")
SCHEMA = 3


class Outcome(StrEnum):
    """What became of a measurement whose step was made to its end."""

    MEASURED = "measured"
    NOT_STARTED = "did not start"
    SILENT = "does not answer"
    """A server that already ran, or one that gave an answer before."""
    DIED = "died"
    WRONG = "answers wrongly"
    TOOL_FAILED = "load tool failed"
    LOST = "dependency ended"
    """What all services need (database, upstream, load generator) ended again and again."""
    UNREACHED = "not reached"
    """The network between two machines lost the service."""


MEASURED = Outcome.MEASURED

ERROR_KINDS = ("connect", "read", "write", "timeout", "other", "non2xx", "status")
"""The keys of `Record.errors`; `status` maps an HTTP status (vegeta: 0 = no answer) to its number of answers."""

LATENCIES = ("mean", "stdev", "min", "max", "p50", "p75", "p90", "p95", "p99")
"""The keys of `Record.latency_s`; values are in seconds."""

FIGURES = (
    "tool_version",
    "command",
    "exit_status",
    "image_id",
    "base_label",
    "python_build",
    "packages_file",
    "packages_sha256",
    "raw_sha256",
    "server_limits",
    "loadgen_limits",
    "requests",
    "attempts",
    "successes",
    "duration_s",
    "goodput",
    "sent_rate",
    "server_cpu_s",
    "loadgen_cpu_s",
    "cpu_per_success_s",
    "memory_peak_bytes",
    "throttled_s",
    "steal_ratio",
    "database_cpu_s",
    "memory_idle_bytes",
    "start_s",
    "image_bytes",
    "goodput_per_core",
    "loadgen_busy_ratio",
    "loadgen_wait_ratio",
    "foreign_ratio",
    "lag_s",
    "knee_rate",
    "process_cpu_s",
    "speed",
    "server_busy_ratio",
)
"""Fields that every measurement should have: null only with a reason in `nulls`."""


class BadRecord(ValueError):
    """The line is not a record of this schema."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a measurement is not valid: `cause` names a validity rule or an outcome, `detail` gives the facts."""

    cause: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One measurement. Counts are numbers of requests, times seconds, sizes bytes, rates 1/s.

    `cpu_per_success_s` is the CPU time of the server, and of the database where the scenario uses it, per success;
    `goodput_per_core` is its inverse: goodput per core that was actually used. `memory_idle_bytes` is the memory of
    the service when it was ready and had no load, without page cache. `start_s` is the time from the container's start
    to the first good answer that the load generator saw; it polls only some tenths of a second after the start, so
    this is an upper bound.

    Ratios of the window: `loadgen_busy_ratio` is the CPU time of the load generator, `loadgen_wait_ratio` the time
    that the tool's threads were ready to run and waited for a CPU that others used, both relative to the CPUs that the
    tool can use (ab has one thread). `foreign_ratio` is the busy CPU time of the host that does not belong to this
    measurement, relative to all of the host's CPUs.

    In turns only: `speed` is successes per second of the turns that other programs did not take, which ranks a table;
    `server_busy_ratio` is the service's CPU time relative to what other programs left of its CPUs; `window_end` says
    how the load tool was ended (`frozen`, `interrupted`; null in runs made before that was saved).
    """

    id: str
    round: int
    position: int
    # The cell. Null where the level does not set it (connections of an open loop, ...).
    service: str
    server: str
    framework: str
    python: str
    base: str
    package: str | None
    scenario: str
    tool: str
    level: str
    connections: int | None
    rate: float | None
    count: int | None
    asked_s: float | None
    # What was run. `stdin` is null where the command reads none.
    harness: str
    settings_sha256: str
    tool_version: str | None
    command: tuple[str, ...] | None
    stdin: str | None
    exit_status: int | None
    image_id: str | None
    base_label: str | None
    python_build: str | None
    packages_file: str | None
    packages_sha256: str | None
    raw_file: str
    raw_sha256: str | None
    # Limits and sysctls as read back, in the kernel's format.
    server_limits: Mapping[str, str] | None
    loadgen_limits: Mapping[str, str] | None
    # `measured`, or what prevented it.
    outcome: str
    valid: bool
    causes: tuple[Cause, ...]
    # The result. `attempts` were started, `requests` got an answer, `successes` the expected one.
    requests: int | None
    attempts: int | None
    successes: int | None
    errors: Mapping[str, Any]
    duration_s: float | None
    goodput: float | None
    sent_rate: float | None
    latency_kind: str
    latency_s: Mapping[str, float | None]
    server_cpu_s: float | None
    loadgen_cpu_s: float | None
    cpu_per_success_s: float | None
    memory_peak_bytes: int | None
    throttled_s: float | None
    steal_ratio: float | None
    database_cpu_s: float | None
    memory_idle_bytes: int | None
    start_s: float | None
    image_bytes: int | None
    goodput_per_core: float | None
    loadgen_busy_ratio: float | None
    loadgen_wait_ratio: float | None
    foreign_ratio: float | None
    # How late an open loop's requests were sent (p50, p99, max), and the highest rate at which p99 is in its limit.
    lag_s: Mapping[str, float] | None
    knee_rate: float | None
    nulls: Mapping[str, str]
    # `solo`, `null` (the null server, a control) or `turns` (one service of a `block`, all up side by side, each loaded
    # in its turns; `slot` is its place in their order).
    mode: str = "solo"
    slot: int | None = None
    window: int | None = None
    block: int | None = None
    # What the service was given by --vary: `WORKERS=2 THREADS=4`.
    settings: str | None = None
    # CPU time of each process of the service, the most first; in turns over all windows of the block.
    process_cpu_s: tuple[float, ...] | None = None
    # Of a run on several machines.
    node: str | None = None
    # Several load generators that shared the load of the cell, and how far apart they started; null where one made it.
    loadgens: int | None = None
    start_skew_s: float | None = None
    speed: float | None = None
    server_busy_ratio: float | None = None
    window_end: str | None = None
    # Where the open-loop client ended the search for a knee: the server's knee is higher than this rate.
    client_limit: float | None = None
    # Of held connections only.
    memory_held_bytes: int | None = None

    @property
    def client_core_ratio(self) -> float | None:
        """The share of a core that the load generator needs for 1,000 requests/s; None where that is not known."""
        return 1000 * self.loadgen_cpu_s / self.attempts if self.loadgen_cpu_s is not None and self.attempts else None

    def __post_init__(self) -> None:
        missing = {name for name in FIGURES if getattr(self, name) is None}
        missing |= {f"errors.{kind}" for kind in ERROR_KINDS if self.errors.get(kind) is None}
        missing |= {f"latency_s.{key}" for key in LATENCIES if self.latency_s.get(key) is None}
        if missing != self.nulls.keys():
            raise BadRecord(f"{self.id}: null without a reason, or the reverse: {missing ^ self.nulls.keys()}")
        if self.valid and (self.causes or self.outcome != MEASURED):
            raise BadRecord(f"{self.id}: valid despite {self.outcome}, {self.causes}")
        if not self.valid and not self.causes:
            raise BadRecord(f"{self.id}: not valid without a cause")


_FIELDS = tuple(field.name for field in fields(Record))
_KEYS = {"errors": ERROR_KINDS, "latency_s": LATENCIES}


def to_line(record: Record) -> str:
    """The record as one line of JSON, without its newline."""
    values: dict[str, Any] = {"schema": SCHEMA}
    values |= {name: getattr(record, name) for name in _FIELDS}
    values["causes"] = [{"cause": cause.cause, "detail": cause.detail} for cause in record.causes]
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def from_line(line: str) -> Record:
    """The record of a line; BadRecord where it is not one."""
    try:
        if (values := as_object(line)) is None:
            raise BadRecord("not a JSON object")
        if (found := values.pop("schema")) != SCHEMA or type(found) is not int:
            raise BadRecord(f"a record of schema {str(found)[:40]}, this version reads {SCHEMA}")
        values["causes"] = tuple(Cause(**cause) for cause in values["causes"])
        for name in ("command", "process_cpu_s"):
            if isinstance(values.get(name), list):
                values[name] = tuple(values[name])
        if wrong := ", ".join(wrong_types(values, Record, _KEYS)):
            raise BadRecord(f"not a record of schema {SCHEMA}: of a wrong type: {wrong}")
        if (tool := values["tool"]) not in TOOLS:
            raise BadRecord(f"a record of the load tool {str(tool)[:40]}, which this version does not have")
        return Record(**values)
    except BadRecord:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise BadRecord(f"not a record of schema {SCHEMA}: {problem}") from None


def dump(records: Iterable[Record]) -> Iterator[str]:
    """The lines of records.jsonl, each with its newline."""
    for record in records:
        yield to_line(record) + "\n"


def load(lines: Iterable[str]) -> Iterator[Record]:
    """The records of the lines of records.jsonl."""
    return read_lines(lines, from_line)


def read_lines(lines: Iterable[str], read: Callable[[str], R]) -> Iterator[R]:
    """What `read` makes of each line; blank ones are skipped, for another one `BadRecord` has its number.

    Lines end with a line feed only: JSON may hold the other separators that `str.splitlines` knows.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield read(line)
            except BadRecord as problem:
                raise BadRecord(f"line {number}: {problem}") from None

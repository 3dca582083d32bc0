"""The record of one measurement: what was measured, the result, and whether it is valid.

A run's records are JSON Lines in plan order; the keys of a line are the fields of `Record`, in their order. A missing
figure is null, with the reason in `nulls`; a `Record` that breaks this rule cannot be constructed. Readers must refuse
lines whose `schema` is not `SCHEMA`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, TypeVar, get_type_hints

from msgspec import Meta

from bench.core.files import as_object
from bench.core.service_settings import Settings
from bench.core.typed import as_plain, typed
from bench.tools import TOOLS
from bench.tools.levels import Level, LoadKey

R = TypeVar("R")
SCHEMA = 3


class Outcome(StrEnum):
    """The outcome of a measurement whose step was completed."""

    MEASURED = "measured"
    NOT_STARTED = "did not start"
    SILENT = "does not answer"
    """A server that was already running, or that had answered before, does not answer."""
    DIED = "died"
    WRONG = "answers wrongly"
    TOOL_FAILED = "load tool failed"
    LOST = "dependency ended"
    """A dependency of all services (database, upstream, load generator) ended repeatedly."""
    UNREACHED = "not reached"
    """The service could not be reached over the network between two machines."""


MEASURED = Outcome.MEASURED

ERROR_KINDS = ("connect", "read", "write", "timeout", "other", "non2xx", "status")
"""The keys of `Record.errors`; `status` maps an HTTP status (vegeta: 0 = no response) to its number of responses."""

LATENCIES = ("mean", "stdev", "min", "max", "p50", "p75", "p90", "p95", "p99")
"""The keys of `Record.latency_s`; values are in seconds."""

# Within what a 64-bit integer holds, as in Parquet.
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Positive = Annotated[int, Meta(ge=1, le=2**63 - 1)]


@dataclass(frozen=True, slots=True)
class Field:
    """What a field of a record says, for the schema, the exports and their documentation; `unit` is empty if none."""

    text: str
    unit: str = ""


class Figure(Field):
    """A field that every measurement should have; it may only be null with a reason in `nulls`."""


class BadRecord(ValueError):
    """The line is not a record of this schema."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a measurement is invalid: `cause` names a validity rule or an outcome, `detail` gives the facts."""

    cause: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One measurement. Counts are numbers of requests; times are in seconds, sizes in bytes, rates in 1/s.

    - `cpu_per_success_s`: CPU time of the server, and of the database if the scenario uses it, per success;
      `goodput_per_core`: its inverse, i.e. goodput per core that was actually used.
    - `memory_loaded_bytes`: anonymous and shared memory of all processes of the service, without page cache, right
      after the loads of its container; null in earlier runs. `memory_idle_bytes`: the same when ready, before any load.
    - `start_s`: time from the container's start to the first good response seen by the load generator. This is an upper
      bound, because polling begins some tenths of a second after the start.

    Ratios of the window:

    - `loadgen_busy_ratio`: CPU time of the load generator; `loadgen_wait_ratio`: time that the tool's threads were
      runnable and waited for a CPU used by others. Both are relative to the CPUs that the tool can use (ab has one
      thread).
    - `foreign_ratio`: busy CPU time of the host that does not belong to this measurement, relative to all of its CPUs.

    In turns only:

    - `speed`: successes per second of its turns, without the time taken by other programs; it ranks a table.
    - `steady_speed`, `steady_goodput`, `steady_cpu_per_success_s`: the same figures without the begin and the end of
      its turns; null in earlier runs, whose turns were all of one length.
    - `server_busy_ratio`: the service's CPU time relative to what other programs left of its CPUs.
    - `window_end`: how the load tool was ended: `frozen` or `interrupted`; null in earlier runs, which did not save it.
    """

    id: Annotated[str, Field("ID of the measurement within its run")]
    round: Annotated[Positive, Field("round, from 1")]
    position: Annotated[Positive, Field("position in the random order of the round, from 1")]
    service: Annotated[str, Field("Compose service under load")]
    server: Annotated[str, Field("server")]
    framework: Annotated[str, Field("framework")]
    python: Annotated[str, Field("Python version, such as 3.13")]
    base: Annotated[str, Field("base image: debian or alpine")]
    package: Annotated[
        str | None, Field("package in another version, as NAME==VERSION, and those that are changed together with it")
    ]
    scenario: Annotated[str, Field("request that was sent")]
    tool: Annotated[str, Field("load tool")]
    level: Annotated[Level, Field("load level, such as c64 (connections) or r500 (requests/s)")]
    connections: Annotated[Positive | None, Field("connections of a closed loop")]
    rate: Annotated[float | None, Field("target request rate", "1/s")]
    count: Annotated[Positive | None, Field("target number of requests, if the level sets one")]
    asked_s: Annotated[float | None, Field("target duration of the load, if the level sets no number of requests", "s")]
    harness: Annotated[str, Field("version and content hash of the harness")]
    settings_sha256: Annotated[str, Field("SHA-256 of run.json")]
    tool_version: Annotated[str | None, Figure("version of the load tool")]
    command: Annotated[tuple[str, ...] | None, Figure("command line of the load tool")]
    stdin: Annotated[str | None, Field("standard input of the command")]
    exit_status: Annotated[Whole | None, Figure("exit status of the command")]
    image_id: Annotated[str | None, Figure("ID of the service's image")]
    base_label: Annotated[str | None, Figure("how the base image was built, or its PRETTY_NAME")]
    python_build: Annotated[str | None, Figure("version and build of the interpreter, and its JIT")]
    packages_file: Annotated[str | None, Figure("file of the run that lists the packages in the image")]
    packages_sha256: Annotated[str | None, Figure("SHA-256 of that file")]
    raw_file: Annotated[str, Field("file of the run with the load tool's output")]
    raw_sha256: Annotated[str | None, Figure("SHA-256 of that file")]
    server_limits: Annotated[
        Mapping[str, str] | None, Figure("limits and sysctls in the service's container, as read back")
    ]
    loadgen_limits: Annotated[
        Mapping[str, str] | None, Figure("limits and sysctls in the load generator's container, as read back")
    ]
    outcome: Annotated[str, Field("measured, or what prevented the measurement")]
    valid: Annotated[bool, Field("whether it passed the validity checks; invalid measurements must not be ranked")]
    causes: Annotated[tuple[Cause, ...], Field("why it is invalid")]
    requests: Annotated[Whole | None, Figure("requests that got a response")]
    attempts: Annotated[Whole | None, Figure("requests that were started")]
    successes: Annotated[Whole | None, Figure("requests that got the expected response")]
    errors: Annotated[
        Mapping[str, Whole | Mapping[str, Whole] | None],
        Field("errors by kind; `status` counts responses by HTTP status (vegeta: 0 is no response)"),
    ]
    duration_s: Annotated[float | None, Figure("duration of the load, as the tool reports it", "s")]
    goodput: Annotated[float | None, Figure("successes per second", "1/s")]
    sent_rate: Annotated[float | None, Figure("requests started per second", "1/s")]
    latency_kind: Annotated[str, Field("open loop, or closed loop (whose percentiles hide stalls)")]
    latency_s: Annotated[
        Mapping[str, float | None], Field("latency in this window; do not average percentiles of several windows", "s")
    ]
    server_cpu_s: Annotated[float | None, Figure("CPU time of the service in the window", "s")]
    loadgen_cpu_s: Annotated[float | None, Figure("CPU time of the load generator in the window", "s")]
    cpu_per_success_s: Annotated[float | None, Figure("CPU time of service and database per success", "s")]
    memory_loaded_bytes: Annotated[Whole | None, Figure("memory of the service at the end of its load", "bytes")]
    throttled_s: Annotated[float | None, Figure("time for which the kernel throttled the service", "s")]
    steal_ratio: Annotated[float | None, Figure("share of the host's CPU time that the hypervisor took")]
    database_cpu_s: Annotated[float | None, Figure("CPU time of the database in the window", "s")]
    memory_idle_bytes: Annotated[Whole | None, Figure("memory of the service when ready and idle", "bytes")]
    start_s: Annotated[
        float | None, Figure("time from container start to the first good response: an upper bound", "s")
    ]
    image_bytes: Annotated[Whole | None, Figure("size of the image", "bytes")]
    goodput_per_core: Annotated[
        float | None, Figure("goodput per CPU core that service and database actually used", "1/s")
    ]
    loadgen_busy_ratio: Annotated[float | None, Figure("share of its CPUs that the load generator used")]
    loadgen_wait_ratio: Annotated[
        float | None, Figure("share of the window that the tool's threads waited for a CPU that others used")
    ]
    foreign_ratio: Annotated[float | None, Figure("share of the host's CPU time that other programs used")]
    lag_s: Annotated[Mapping[str, float] | None, Figure("how late an open loop's requests were sent", "s")]
    knee_rate: Annotated[float | None, Figure("highest rate at which p99 stays within the level's limit", "1/s")]
    nulls: Annotated[Mapping[str, str], Field("why a figure is null, by field")]
    mode: Annotated[
        str,
        Field(
            "solo, null (the null server, a control), turns (one service of a table) or rate (alone, at a common rate)"
        ),
    ] = "solo"
    slot: Annotated[Positive | None, Field("in turns: the service's place in their order, from 1")] = None
    window: Annotated[Positive | None, Field("in turns: window of the block, from 1")] = None
    block: Annotated[Positive | None, Field("in turns: which of the round's blocks of services it was in, from 1")] = (
        None
    )
    settings: Annotated[
        Settings,
        Field(
            "settings from --vary and --flags, and REF=NAME in a run of two refs: NAME=VALUE, separated by spaces;"
            " values with spaces are quoted as in a shell"
        ),
    ] = field(default_factory=Settings)
    process_cpu_s: Annotated[
        tuple[float, ...] | None,
        Figure("CPU time of each process of the service, largest first; in turns over all windows of its block", "s"),
    ] = None
    node: Annotated[str | None, Field("in a run on several machines, the node where the service was")] = None
    speed: Annotated[
        float | None,
        Figure("in turns: successes per second, without time that other programs took; ranks a table", "1/s"),
    ] = None
    server_busy_ratio: Annotated[
        float | None, Figure("in turns: share of the CPU time left by other programs that the service used")
    ] = None
    window_end: Annotated[
        str | None, Field("in turns: frozen or interrupted, how the load tool was ended; null in older runs")
    ] = None
    steady_speed: Annotated[float | None, Field("in turns: speed without the begin and the end of turns", "1/s")] = None
    steady_goodput: Annotated[
        float | None, Field("in turns: goodput without the begin and the end of turns", "1/s")
    ] = None
    steady_cpu_per_success_s: Annotated[
        float | None, Field("in turns: CPU time per success without the begin and the end of turns", "s")
    ] = None
    client_limit: Annotated[
        float | None, Field("rate at which the load generator ended the search: the server's knee is higher", "1/s")
    ] = None

    @property
    def load(self) -> LoadKey:
        """The load that it is of."""
        return LoadKey(self.scenario, self.tool, self.level)

    @property
    def client_core_ratio(self) -> float | None:
        """The share of a core that the load generator needs for 1,000 requests/s; None if unknown."""
        return 1000 * self.loadgen_cpu_s / self.attempts if self.loadgen_cpu_s is not None and self.attempts else None

    def __post_init__(self) -> None:
        if {*self.errors} != {*ERROR_KINDS} or {*self.latency_s} != {*LATENCIES}:
            raise BadRecord(f"{self.id}: errors or latency_s has other keys")
        missing = {name for name in FIGURES if getattr(self, name) is None}
        missing |= {f"errors.{kind}" for kind in ERROR_KINDS if self.errors[kind] is None}
        missing |= {f"latency_s.{key}" for key in LATENCIES if self.latency_s[key] is None}
        if missing != self.nulls.keys():
            raise BadRecord(f"{self.id}: null without a reason, or the reverse: {missing ^ self.nulls.keys()}")
        if self.valid and (self.causes or self.outcome != MEASURED):
            raise BadRecord(f"{self.id}: valid despite {self.outcome}, {self.causes}")
        if not self.valid and not self.causes:
            raise BadRecord(f"{self.id}: not valid without a cause")


FIELDS: Mapping[str, Field] = {
    name: hint.__metadata__[-1] for name, hint in get_type_hints(Record, include_extras=True).items()
}
"""All fields of a record, in order."""
FIGURES = tuple(name for name, field in FIELDS.items() if isinstance(field, Figure))


def to_line(record: Record) -> str:
    """The record as one line of JSON, without its newline."""
    return as_line(record, SCHEMA)


def as_line(record: object, schema: int) -> str:
    """A record of any kind as one line of JSON, without its newline."""
    values = {"schema": schema, **as_plain(record)}
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def from_line(line: str) -> Record:
    """Parse a line into a record; BadRecord if that fails."""
    record = parse_line(Record, SCHEMA, line)
    if record.tool not in TOOLS:
        raise BadRecord(f"a record of the load tool {record.tool[:40]}, which this version does not have")
    return record


def parse_line(kind: type[R], schema: int, line: str) -> R:
    """Parse a line into a record of this kind and schema; BadRecord if that fails."""
    if (values := as_object(line)) is None:
        raise BadRecord("not a JSON object")
    if (found := values.pop("schema", None)) != schema or type(found) is not int:
        raise BadRecord(f"a record of schema {str(found)[:40]}, this version reads {schema}")
    try:
        return typed(kind, values)
    except ValueError as problem:
        raise BadRecord(f"not a record of schema {schema}: {problem}") from None


def dump(records: Iterable[Record]) -> Iterator[str]:
    """The lines of records.jsonl, each with its newline."""
    return (to_line(record) + "\n" for record in records)


def load(lines: Iterable[str]) -> Iterator[Record]:
    """Parse the lines of records.jsonl; BadRecord with the line's number for a bad line."""
    return read_lines(lines, from_line)


def read_lines(lines: Iterable[str], read: Callable[[str], R]) -> Iterator[R]:
    """Parse each line with `read`, skipping blank lines; BadRecord gets the line's number.

    `lines` must be split at line feeds only, because JSON may contain other separators that `str.splitlines` splits at.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield read(line)
            except BadRecord as problem:
                raise BadRecord(f"line {number}: {problem}") from None

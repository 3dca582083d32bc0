"""The record of one measurement: what was measured, the result, and whether it is valid.

A run's records are JSON Lines in plan order; the keys of a line are the fields of `Record`, in their order. A missing
figure is null, with the reason in `nulls`; a `Record` that breaks this rule cannot be constructed. Readers must refuse
lines whose `schema` is another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
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
L = TypeVar("L", bound="Line")


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


class Line:
    """A record of any kind: a line of a file that has the same schema in each of its lines."""

    __slots__ = ()
    SCHEMA = 0


MAY_LACK = "null with a reason in `nulls`"
Figure = Annotated[R | None, MAY_LACK]
"""A field that every measurement should have; it may only be null with a reason in `nulls`."""


class BadRecord(ValueError):
    """The line is not a record of this schema."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a measurement is invalid: `cause` names a validity rule or an outcome, `detail` gives the facts."""

    cause: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Line):
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

    SCHEMA = 3

    id: str
    """ID of the measurement within its run."""
    round: Positive
    """Round, from 1."""
    position: Positive
    """Position in the random order of the round, from 1."""
    service: str
    """Compose service under load."""
    server: str
    """Server."""
    framework: str
    """Framework."""
    python: str
    """Python version, such as 3.13."""
    base: str
    """Base image: debian or alpine."""
    package: str | None
    """Package in another version, as NAME==VERSION, and those that are changed together with it."""
    scenario: str
    """Request that was sent."""
    tool: str
    """Load tool."""
    level: Level
    """Load level, such as c64 (connections) or r500 (requests/s)."""
    connections: Positive | None
    """Connections of a closed loop."""
    rate: float | None
    """Target request rate, in 1/s."""
    count: Positive | None
    """Target number of requests, if the level sets one."""
    asked_s: float | None
    """Target duration of the load, if the level sets no number of requests, in s."""
    harness: str
    """Version and content hash of the harness."""
    settings_sha256: str
    """SHA-256 of run.json."""
    tool_version: Figure[str]
    """Version of the load tool."""
    command: Figure[tuple[str, ...]]
    """Command line of the load tool."""
    stdin: str | None
    """Standard input of the command."""
    exit_status: Figure[Whole]
    """Exit status of the command."""
    image_id: Figure[str]
    """ID of the service's image."""
    base_label: Figure[str]
    """How the base image was built, or its PRETTY_NAME."""
    python_build: Figure[str]
    """Version and build of the interpreter, and its JIT."""
    packages_file: Figure[str]
    """File of the run that lists the packages in the image."""
    packages_sha256: Figure[str]
    """SHA-256 of that file."""
    raw_file: str
    """File of the run with the load tool's output."""
    raw_sha256: Figure[str]
    """SHA-256 of that file."""
    server_limits: Figure[Mapping[str, str]]
    """Limits and sysctls in the service's container, as read back."""
    loadgen_limits: Figure[Mapping[str, str]]
    """Limits and sysctls in the load generator's container, as read back."""
    outcome: str
    """Measured, or what prevented the measurement."""
    valid: bool
    """Whether it passed the validity checks; invalid measurements must not be ranked."""
    causes: tuple[Cause, ...]
    """Why it is invalid."""
    requests: Figure[Whole]
    """Requests that got a response."""
    attempts: Figure[Whole]
    """Requests that were started."""
    successes: Figure[Whole]
    """Requests that got the expected response."""
    errors: Mapping[str, Whole | Mapping[str, Whole] | None]
    """Errors by kind; `status` counts responses by HTTP status (vegeta: 0 is no response)."""
    duration_s: Figure[float]
    """Duration of the load, as the tool reports it, in s."""
    goodput: Figure[float]
    """Successes per second, in 1/s."""
    sent_rate: Figure[float]
    """Requests started per second, in 1/s."""
    latency_kind: str
    """Open loop, or closed loop (whose percentiles hide stalls)."""
    latency_s: Mapping[str, float | None]
    """Latency in this window; do not average percentiles of several windows, in s."""
    server_cpu_s: Figure[float]
    """CPU time of the service in the window, in s."""
    loadgen_cpu_s: Figure[float]
    """CPU time of the load generator in the window, in s."""
    cpu_per_success_s: Figure[float]
    """CPU time of service and database per success, in s."""
    memory_loaded_bytes: Figure[Whole]
    """Memory of the service at the end of its load, in bytes."""
    throttled_s: Figure[float]
    """Time for which the kernel throttled the service, in s."""
    steal_ratio: Figure[float]
    """Share of the host's CPU time that the hypervisor took."""
    database_cpu_s: Figure[float]
    """CPU time of the database in the window, in s."""
    memory_idle_bytes: Figure[Whole]
    """Memory of the service when ready and idle, in bytes."""
    start_s: Figure[float]
    """Time from container start to the first good response: an upper bound, in s."""
    image_bytes: Figure[Whole]
    """Size of the image, in bytes."""
    goodput_per_core: Figure[float]
    """Goodput per CPU core that service and database actually used, in 1/s."""
    loadgen_busy_ratio: Figure[float]
    """Share of its CPUs that the load generator used."""
    loadgen_wait_ratio: Figure[float]
    """Share of the window that the tool's threads waited for a CPU that others used."""
    foreign_ratio: Figure[float]
    """Share of the host's CPU time that other programs used."""
    lag_s: Figure[Mapping[str, float]]
    """How late an open loop's requests were sent, in s."""
    knee_rate: Figure[float]
    """Highest rate at which p99 stays within the level's limit, in 1/s."""
    nulls: Mapping[str, str]
    """Why a figure is null, by field."""
    mode: str = "solo"
    """Solo, null (the null server, a control), turns (one service of a table) or rate (alone, at a common rate)."""
    slot: Positive | None = None
    """In turns: the service's place in their order, from 1."""
    window: Positive | None = None
    """In turns: window of the block, from 1."""
    block: Positive | None = None
    """In turns: which of the round's blocks of services it was in, from 1."""
    settings: Settings = field(default_factory=Settings)
    """Settings from --vary and --flags, and REF=NAME in a run of two refs: NAME=VALUE, separated by spaces; values with
    spaces are quoted as in a shell."""
    process_cpu_s: Figure[tuple[float, ...]] = None
    """CPU time of each process of the service, largest first; in turns over all windows of its block, in s."""
    node: str | None = None
    """In a run on several machines, the node where the service was."""
    speed: Figure[float] = None
    """In turns: successes per second, without time that other programs took; ranks a table, in 1/s."""
    server_busy_ratio: Figure[float] = None
    """In turns: share of the CPU time left by other programs that the service used."""
    window_end: str | None = None
    """In turns: frozen or interrupted, how the load tool was ended; null in older runs."""
    steady_speed: float | None = None
    """In turns: speed without the begin and the end of turns, in 1/s."""
    steady_goodput: float | None = None
    """In turns: goodput without the begin and the end of turns, in 1/s."""
    steady_cpu_per_success_s: float | None = None
    """In turns: CPU time per success without the begin and the end of turns, in s."""
    client_limit: float | None = None
    """Rate at which the load generator ended the search: the server's knee is higher, in 1/s."""

    @property
    def load(self) -> LoadKey:
        """The load that it is of."""
        return LoadKey(self.scenario, self.tool, self.level)

    @property
    def client_core_ratio(self) -> float | None:
        """The share of a core that the load generator needs for 1,000 requests/s; None if unknown."""
        return 1000 * self.loadgen_cpu_s / self.attempts if self.loadgen_cpu_s is not None and self.attempts else None

    def __post_init__(self) -> None:
        if self.tool not in TOOLS:
            raise BadRecord(f"a record of the load tool {self.tool[:40]}, which this version does not have")
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


_HINTS = get_type_hints(Record, include_extras=True)
FIGURES = tuple(name for name, hint in _HINTS.items() if MAY_LACK in getattr(hint, "__metadata__", ()))


def to_line(record: Line) -> str:
    """The record as one line of JSON, without its newline."""
    values = {"schema": record.SCHEMA, **as_plain(record)}
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def from_line(line: str, kind: type[L]) -> L:
    """Parse a line into a record of this kind; BadRecord if that fails."""
    if (values := as_object(line)) is None:
        raise BadRecord("not a JSON object")
    if (found := values.pop("schema", None)) != kind.SCHEMA or type(found) is not int:
        raise BadRecord(f"a record of schema {str(found)[:40]}, this version reads {kind.SCHEMA}")
    try:
        return typed(kind, values)
    except ValueError as problem:
        raise BadRecord(f"not a record of schema {kind.SCHEMA}: {problem}") from None


def dump(records: Iterable[Line]) -> Iterator[str]:
    """The lines of a file of records, each with its newline."""
    return (to_line(record) + "\n" for record in records)


def load(lines: Iterable[str], kind: type[L]) -> Iterator[L]:
    """Parse the lines of a file of records, without blank ones; BadRecord with the line's number for a bad line.

    `lines` must be split at line feeds only, because JSON may contain other separators that `str.splitlines` splits at.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield from_line(line, kind)
            except BadRecord as problem:
                raise BadRecord(f"line {number}: {problem}") from None

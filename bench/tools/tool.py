"""What a load tool is: the load that it is asked for, its command line, precision and output."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.core.formats import plain
from bench.core.programs import guarded
from bench.tools.parsed import Parsed

OUTPUT = "output.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, without the address.

    `headers` are lines, `body_file` is a path. For a user's own app both are those of its first request, and `requests`
    is the folder with all `targets` of them.
    """

    method: str = "GET"
    headers: tuple[str, ...] = ()
    body_file: str | None = None
    requests: str | None = None
    targets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A request, sent repeatedly. Times are in seconds, `rate` is in requests/s; None: not set by the level.

    `most_workers` caps the open requests of an open loop; `latency_s` is the longest latency at which it must be held.
    """

    url: str
    request: Request
    connections: int | None = None
    count: int | None = None
    rate: float | None = None
    duration_s: float | None = None
    timeout_s: float
    threads: int = 1
    keepalive: bool = True
    most_workers: int | None = None
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and its standard input ('': none)."""

    argv: tuple[str, ...]
    stdin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a plan knows of a load; `targets` is 0 for the contract's requests, else the number of an own app's."""

    open_loop: bool
    rate: bool
    count: bool
    method: str
    targets: int


class CannotError(Exception):
    """A load that the tool cannot make; the text goes on after "TOOL cannot"."""


class Tool(Protocol):
    """A load tool. The defaults are those of a closed loop that prints one report in text."""

    name: str

    duration_digit_s: float
    latency_digit_s: float
    """Half a unit of the last digit of the duration, and of the mean latency, that it prints; 0 where it always prints
    three digits or more."""

    output: str = OUTPUT
    """The raw file that is parsed."""
    results: str = OUTPUT
    """The raw file for its standard output; its standard error goes to output.txt."""
    more_files: tuple[str, ...] = ()
    """Other raw files that figures come from."""

    @property
    def files(self) -> tuple[str, ...]:
        """All raw files that the tool leaves."""
        return (self.output, self.results, *self.more_files)

    limits_rate: bool = False
    mixes_targets: bool = False
    merges_reports: bool = False
    """Whether it can make one report, with percentiles, from the results of several load generators."""
    ends_frozen: bool = False
    """Whether it exits while the service is frozen: it does not wait for responses that are under way."""
    holds: bool = False
    """Whether its connections have nothing to do: all services of a table are then under it at once, without turns."""
    told_status: int = 0
    """Its exit status after SIGINT, when it has printed its result."""
    uncounted: tuple[str, ...] = ("connect", "read", "write")
    """The kinds of failed requests that its request count does not include."""
    counts_late: bool = False
    """Whether its request count includes responses that came after the timeout."""
    adds_samples: bool = False
    """Whether it adds latencies of requests that a stall delayed, so that the mean is larger than that of responses."""
    all_have_status: bool = False
    """Whether its counts by status are of all attempts: `0` is that of a request without an answer."""

    def refusal(self, asked: Asked) -> str | None:
        """Why it cannot make this load; None if it can."""
        if asked.open_loop:
            return f"{self.name} is closed loop: it takes connections (c64)"
        if asked.rate and not self.limits_rate:
            return f"{self.name} cannot limit its rate"
        if asked.targets > 1 and not self.mixes_targets:
            return f"{self.name} sends one request again and again: it cannot mix {asked.targets} targets"
        return None

    def version(self) -> str:
        """Its version; '' if unknown."""
        ...

    def command(self, load: Load) -> Command:
        """Its command line for this load; CannotError if it cannot make it."""
        ...

    def keeps_alive(self, argv: Sequence[str]) -> bool:
        """Whether this command line of it sends more than one request on a connection."""
        ...

    def save(self, load: Load, folder: Path) -> bool:
        """After the load: make reports from its results. False if one could not be made.

        The files in `folder` still have their temporary names (see `temporary`).
        """
        return True

    def merge(self, parts: Sequence[Path], folder: Path) -> bool:
        """Merge the results of several load generators into `folder`, as far as the tool can; False if that failed."""
        return True

    def parse(self, data: bytes) -> Parsed:
        """Parse its raw output. Never fails."""
        ...

    def counted_in_rate(self, parsed: Parsed) -> int | None:
        """The requests that its own rate (`rps`) counts; the default: all completed."""
        return parsed.requests

    def requests_of(self, count: int, connections: int) -> int:
        """How many requests it sends where it is asked for `count`."""
        return count

    def other_load(self, output: bytes, connections: int | None, duration_s: float | None) -> Iterator[str]:
        """How the load that its output says it made differs from this one; `duration_s` None: whatever it was."""
        yield from ()

    def cpus(self, threads: int, cpus: int) -> int:
        """How many of the CPUs it can use."""
        return cpus


def temporary(folder: Path, name: str) -> Path:
    """The name of a raw file until it is complete."""
    return folder / f".{name}.tmp"


def printed(pattern: str, *argv: str) -> str:
    """The first group of the pattern in what a program prints within 5 s, stdout and stderr; '' if there is none."""
    try:
        done = subprocess.run(
            guarded(5, 1, *argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError:
        return ""
    found = re.search(pattern, done.stdout.decode(errors="replace"), re.MULTILINE)
    return found[1] if found else ""


def whole(name: str, value: float | None) -> str:
    """The value as a word; CannotError unless it is a whole number from 1."""
    text = plain(value)
    if not re.fullmatch("[1-9][0-9]*", text):
        raise CannotError(f"take a {name} of '{text}': whole numbers from 1 only")
    return text


def check_duration_or_count(load: Load) -> None:
    """CannotError unless there is either a duration or a count, and the count covers all connections."""
    connections = int(whole("connections", load.connections))
    if (load.duration_s is None) == (load.count is None):
        raise CannotError("do both or neither of a duration and a count")
    if load.count is not None and int(whole("count", load.count)) < connections:
        raise CannotError(f"make {load.count} requests on {connections} connections: at least one for each")


def header_options(load: Load) -> list[str]:
    """The header options of ab and hey, which have a flag of its own for the content type."""
    words = []
    for line in load.request.headers:
        name, _, value = line.partition(":")
        words += ["-T", value.strip()] if name.lower() == "content-type" else ["-H", line]
    return words

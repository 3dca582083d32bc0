"""The interface of a load tool: the requested load, the tool's command line, precision and output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.core.exchange import GET, Exchange
from bench.core.files import MAX_BYTES
from bench.core.formats import plain
from bench.core.programs import guarded, run_joined
from bench.tools.parsed import Histogram, Parsed, Timed

OUTPUT = "output.txt"
HTTP = frozenset({("http", "http/1.1"), ("http", "https")})
"""What a tool speaks that sends HTTP/1.1, with TLS or without."""
MOST_LINE = 256
"""Bytes of an open loop's results for a request; vegeta has some 75."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """An exchange, repeated. Times are in seconds, `rate` is in requests/s; None means not set by the level.

    `at` is the server's HOST:PORT, `headers` are lines, `body_file` is a path. For a user's own app these are those of
    its first request, and `requests` is the folder with all of its requests. A load that is being planned has neither
    `at` nor `timeout_s` yet.

    Of an open loop: `most_workers` limits the requests in flight, `most_connections` the connections. `latency_s`: the
    highest latency (p99) at which it still has to keep its rate. `leads_in`: whether it may send requests before those
    that count.
    """

    exchange: Exchange = GET
    at: str = ""
    headers: tuple[str, ...] = ()
    body_file: str | None = None
    requests: str | None = None
    connections: int | None = None
    count: int | None = None
    rate: float | None = None
    duration_s: float | None = None
    timeout_s: float = 0.0
    threads: int = 1
    keepalive: bool = True
    most_workers: int | None = None
    most_connections: int | None = None
    latency_s: float = 0.0
    leads_in: bool = True

    @property
    def url(self) -> str:
        """The URL of the request."""
        return self.exchange.url(self.at)

    @property
    def peer(self) -> tuple[str, int]:
        """The server's host and port."""
        host, _, port = self.at.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def open_loop(self) -> bool:
        """Whether requests are sent at a fixed rate, however slow the responses are."""
        return self.connections is None

    @property
    def most_bytes(self) -> int:
        """The most that a tool may write: its words and, in an open loop, a line for each request."""
        return MAX_BYTES + round(MOST_LINE * (self.rate or 0) * (self.duration_s or 0))


@dataclass(frozen=True, slots=True)
class Command:
    """A command line and its standard input ('' for none)."""

    argv: tuple[str, ...]
    stdin: str = ""


class CannotError(Exception):
    """A load that the tool cannot generate; the text continues "TOOL cannot"."""


class Tool(Protocol):
    """A load tool. The defaults fit a closed loop that prints one text report."""

    name: str
    speaks: frozenset[tuple[str, str]] = frozenset()
    """The kinds of exchanges that it can make, each with the protocol."""

    duration_digit_s: float
    latency_digit_s: float
    """Rounding error (half a unit of the last digit) of the printed duration and mean latency; 0 if at least three
    significant digits are always printed."""

    output: str = OUTPUT
    """The raw file that is parsed."""
    results: str = OUTPUT
    """The raw file for its standard output; its standard error goes to output.txt."""
    more_files: tuple[str, ...] = ()
    """Other raw files that are used for figures."""

    @property
    def files(self) -> tuple[str, ...]:
        """All raw files of the tool."""
        return (self.output, self.results, *self.more_files)

    limits_rate: bool = False
    mixes_targets: bool = False
    leads_in: bool = False
    """Whether it sends requests before the load that it does not count, and then stops its process group."""
    ends_frozen: bool = False
    """Whether it exits even if the service is frozen, because it does not wait for requests in flight."""
    told_status: int = 0
    """Its exit status if it ends on SIGINT after printing its result."""
    uncounted: tuple[str, ...] = ("connect", "read", "write")
    """The kinds of failed requests that its request count does not include."""
    counts_late: bool = False
    """Whether its request count includes responses that came after the timeout."""
    adds_samples: bool = False
    """Whether it adds samples for requests delayed by a stall, so that its mean latency exceeds that of responses."""
    times_opening: bool = True
    """Whether its latencies include the time to open a connection."""
    closes: str = ""
    """The word of its command line that turns keep-alive off."""
    all_have_status: bool = False
    """Whether its counts by status cover all attempts; `0` is the status of a request without a response."""

    def duration_digit(self, duration_s: float) -> float:
        """How precisely it prints this duration, in seconds."""
        return self.duration_digit_s

    def unspoken(self, exchange: Exchange) -> str | None:
        """The reason why it cannot make this exchange, under any load; None if it can."""
        spoken = (exchange.kind, exchange.protocol) in self.speaks
        return None if spoken else f"{self.name} does not speak {exchange.kind} over {exchange.protocol}"

    def refusal(self, load: Load) -> str | None:
        """The reason why it cannot generate this load of an exchange that it speaks; None if it can."""
        if load.open_loop:
            return f"{self.name} is closed loop: it takes connections (c64)"
        if load.rate and not self.limits_rate:
            return f"{self.name} cannot limit its rate"
        if load.exchange.targets > 1 and not self.mixes_targets:
            return f"{self.name} sends one request again and again: it cannot mix {load.exchange.targets} targets"
        return None

    def version(self) -> str:
        """Its version; '' if unknown."""
        ...

    def command(self, load: Load) -> Command:
        """Its command line for this load; CannotError if it cannot generate the load."""
        ...

    def keeps_alive(self, argv: Sequence[str]) -> bool:
        """Whether this command line makes it send more than one request per connection."""
        return self.closes not in argv

    def lead_requests(self, load: Load) -> int:
        """The number of requests that it sends before the load."""
        return 0

    def save(self, load: Load, folder: Path) -> bool:
        """Make reports from its results after the load; False if one could not be made.

        Files in `folder` still have their temporary names (see `temporary`).
        """
        return True

    def parse(self, data: bytes) -> Parsed:
        """Parse its raw output. Never fails."""
        ...

    def histograms(self, output: bytes) -> Mapping[Timed, Histogram]:
        """All that it timed, if its raw output has that whole, what comes first before the rest."""
        return {}

    def counted_in_rate(self, parsed: Parsed) -> int | None:
        """The number of requests that its printed rate (`rps`) is based on; by default, all completed ones."""
        return parsed.requests

    def requests_of(self, count: int, connections: int) -> int:
        """The number of requests that it actually sends for a requested `count`."""
        return count

    def other_load(self, output: bytes, connections: int | None, duration_s: float | None) -> Iterator[str]:
        """How the load, by its output, differed from this one; `duration_s` None: do not check the duration."""
        yield from ()

    def cpus(self, threads: int, cpus: int) -> int:
        """The number of CPUs that it can use, of the `cpus` available."""
        return cpus


def temporary(folder: Path, name: str) -> Path:
    """The path of a raw file until it is complete."""
    return folder / f".{name}.tmp"


def printed(pattern: str, *argv: str) -> str:
    """Run a program for up to 5 s and return the pattern's first group in its stdout and stderr; '' if none matches."""
    try:
        done = run_joined(guarded(5, 1, *argv))
    except OSError:
        return ""
    found = re.search(pattern, done.stdout.decode(errors="replace"), re.MULTILINE)
    return found[1] if found else ""


def whole(name: str, value: float | None) -> str:
    """The value as a command-line argument; CannotError unless it is a positive whole number."""
    text = plain(value)
    if not re.fullmatch("[1-9][0-9]*", text):
        raise CannotError(f"take a {name} of '{text}': whole numbers from 1 only")
    return text


def check_duration_or_count(load: Load) -> None:
    """Raise CannotError unless the load has either a duration or a count, of at least one request per connection."""
    connections = int(whole("connections", load.connections))
    if (load.duration_s is None) == (load.count is None):
        raise CannotError("do both or neither of a duration and a count")
    if load.count is not None and int(whole("count", load.count)) < connections:
        raise CannotError(f"make {load.count} requests on {connections} connections: at least one for each")


def header_options(load: Load) -> list[str]:
    """The header options of ab and hey, which have a separate option for the content type."""
    words = []
    for line in load.headers:
        name, _, value = line.partition(":")
        words += ["-T", value.strip()] if name.lower() == "content-type" else ["-H", line]
    return words

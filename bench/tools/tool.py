"""What a load tool is to everybody else: its command line, what it cannot do, how exact it is, what it leaves."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bench.core.formats import plain
from bench.core.programs import guarded
from bench.tools.load import Asked, Command, Load

if TYPE_CHECKING:
    from bench.parse import Parsed

OUTPUT = "output.txt"
_WHOLE = re.compile(r"[1-9][0-9]*\Z", re.ASCII)


class CannotError(Exception):
    """A load that the tool cannot make; the text goes on after "TOOL cannot"."""


class Tool(Protocol):
    """A load tool. What is said here holds for a closed loop that prints one report; a class says what is different."""

    name: str

    duration_digit_s: float
    latency_digit_s: float
    """Half a unit of the last digit that it prints of its duration, and of its mean latency."""

    output: str = OUTPUT
    """The raw file that is parsed."""
    results: str = OUTPUT
    """The raw file that its standard output goes to; its standard error goes to output.txt."""
    more_files: tuple[str, ...] = ()
    """Further raw files that figures come from."""

    limits_rate: bool = False
    mixes_targets: bool = False
    merges_reports: bool = False
    """Whether it makes one report, with percentiles, of the results of several load generators."""
    ends_frozen: bool = False
    """Whether it exits while the service is frozen, and waits for no response under way."""
    told_status: int = 0
    """Its exit status when it was told to end (SIGINT), and has printed its result."""
    uncounted: tuple[str, ...] = ("connect", "read", "write")
    """The kinds of failed requests that its count of requests leaves out."""

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
        """What it says of itself; '' where it does not tell."""
        ...

    def command(self, load: Load) -> Command:
        """Its command line for this load; CannotError where it cannot make it."""
        ...

    def save(self, load: Load, folder: Path) -> bool:
        """Make the reports that are made of its results after the load; False where one could not be made.

        In `folder` files still have their temporary names (`temporary`).
        """
        return True

    def merge(self, parts: Sequence[Path], folder: Path) -> bool:
        """Make, in `folder`, what it makes of the results of several load generators; False where that failed."""
        return True

    def parse(self, data: bytes) -> Parsed:
        """The figures of its raw output, by the module of its name in `bench.parse`. Never fails."""
        parsed: Parsed = import_module(f"bench.parse.{self.name}").parse(data)
        return parsed

    def cpus(self, threads: int, cpus: int) -> int:
        """How many of these CPUs it can use."""
        return cpus


def temporary(folder: Path, name: str) -> Path:
    """Where a raw file is until it is whole."""
    return folder / f".{name}.tmp"


def printed(*argv: str) -> str:
    """What a tool says of itself; '' where it says nothing in time."""
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
    return done.stdout.decode(errors="replace")


def found(pattern: str, text: str) -> str:
    """The first group of a pattern's first match in a text; '' where there is none."""
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""


def whole(name: str, value: float | None) -> str:
    """A value that has to be a whole number from 1."""
    text = plain(value)
    if not _WHOLE.match(text):
        raise CannotError(f"take a {name} of '{text}': whole numbers from 1 only")
    return text


def check_duration_or_count(load: Load) -> None:
    """CannotError unless there is either a duration or a count, and a count is enough for all connections."""
    connections = int(whole("connections", load.connections))
    if (load.duration_s is None) == (load.count is None):
        raise CannotError("do both or neither of a duration and a count")
    if load.count is not None and int(whole("count", load.count)) < connections:
        raise CannotError(f"make {load.count} requests on {connections} connections: at least one for each")


def header_options(load: Load) -> list[str]:
    """The headers for a tool that takes the type of a body by a flag of its own."""
    words = []
    for line in load.request.headers:
        name, _, value = line.partition(":")
        words += ["-T", value.strip()] if name.lower() == "content-type" else ["-H", line]
    return words

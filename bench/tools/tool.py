"""The interface of a load tool: command line, what it cannot do, precision, and the files it leaves."""

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
    """A load tool. The defaults are those of a closed loop that prints one report in text."""

    name: str

    duration_digit_s: float
    latency_digit_s: float
    """Half a unit of the last digit of the duration, and of the mean latency, that it prints."""

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
    told_status: int = 0
    """Its exit status after SIGINT, when it has printed its result."""
    uncounted: tuple[str, ...] = ("connect", "read", "write")
    """The kinds of failed requests that its request count does not include."""

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

    def save(self, load: Load, folder: Path) -> bool:
        """After the load: make reports from its results. False if one could not be made.

        The files in `folder` still have their temporary names (see `temporary`).
        """
        return True

    def merge(self, parts: Sequence[Path], folder: Path) -> bool:
        """Merge the results of several load generators into `folder`, as far as the tool can; False if that failed."""
        return True

    def parse(self, data: bytes) -> Parsed:
        """Parse its raw output with its module in `bench.parse`. Never fails."""
        parsed: Parsed = import_module(f"bench.parse.{self.name}").parse(data)
        return parsed

    def cpus(self, threads: int, cpus: int) -> int:
        """How many of the CPUs it can use."""
        return cpus


def temporary(folder: Path, name: str) -> Path:
    """The name of a raw file until it is complete."""
    return folder / f".{name}.tmp"


def printed(*argv: str) -> str:
    """What a tool prints within 5 s, stdout and stderr; '' if it cannot be started."""
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
    """The first group of the first match; '' if there is none."""
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""


def whole(name: str, value: float | None) -> str:
    """The value as a word; CannotError unless it is a whole number from 1."""
    text = plain(value)
    if not _WHOLE.match(text):
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

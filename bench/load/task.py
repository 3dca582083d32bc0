"""One load in the load generator: its tool, its request and its folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bench.load.failed import WRONG_USAGE, Failed
from bench.load.step_json import FILE, StepLoad
from bench.tools import TOOLS
from bench.tools.tool import CannotError, Command, Load, Request, Tool

BODY, HTTP = "request-body", "http://"
Say = Callable[[str], None]
"""Takes a line of output."""


@dataclass(frozen=True, slots=True)
class Task:
    """A load of a step; its files go to `folder`, and the tool is killed after `deadline_s` seconds.

    A search for a knee replaces load, folder and deadline, and keeps the entry.
    """

    entry: StepLoad
    tool: Tool
    load: Load
    folder: Path
    deadline_s: float

    def command(self) -> Command:
        """The tool's command line; Failed if it cannot make the load."""
        return command_of(self.tool, self.load)

    def write_body(self) -> None:
        """Write the body of the contract's request: the tools read it from a file."""
        if self.entry.body:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / BODY).write_bytes(self.entry.body.encode())


def task_of(run: str, entry: StepLoad) -> Task:
    """The task for an entry of a run's step.json."""
    if entry.tool not in TOOLS:
        raise Failed(WRONG_USAGE, f"unknown tool '{entry.tool}' in {run}/{FILE}")
    folder = f"{run}/{entry.dir}"
    load = Load(
        url=entry.url,
        request=_request(run, folder, entry),
        connections=entry.connections,
        count=entry.count,
        rate=entry.rate,
        duration_s=entry.duration_s,
        timeout_s=entry.timeout_s,
        threads=entry.threads,
        keepalive=entry.keepalive,
    )
    return Task(entry, TOOLS[entry.tool], load, Path(folder), entry.deadline_s)


def _request(run: str, folder: str, entry: StepLoad) -> Request:
    """For a user's own app, headers and body come from its folder of requests."""
    body = f"{folder}/{BODY}" if entry.body else None
    if not entry.requests:
        return Request(method=entry.method, headers=("Content-Type: application/json",) * bool(body), body_file=body)
    requests = f"{run}/{entry.requests}"
    headers = Path(requests, "headers").read_text().splitlines()
    first = f"{requests}/body-1"
    return Request(
        method=entry.method,
        headers=tuple(line.strip() for line in headers),
        body_file=first if os.path.exists(first) else body,
        requests=requests,
        targets=entry.targets or 0,
    )


def command_of(tool: Tool, load: Load) -> Command:
    """The command line of a tool; Failed if it cannot make the load."""
    try:
        return tool.command(load)
    except CannotError as error:
        raise Failed(WRONG_USAGE, f"{tool.name} cannot {error}") from error


def pinned(load: Load) -> Load:
    """The load with the host's address in its URL.

    A tool that resolves the name for each connection (hey does) would load Docker's daemon, which is the resolver. A
    name that does not resolve stays: the tool's own error says so.
    """
    host = load.url.removeprefix(HTTP).partition("/")[0].partition(":")[0]
    try:
        done = subprocess.run(["getent", "ahostsv4", host], capture_output=True, check=False)
    except OSError:
        return load
    address = done.stdout.decode(errors="replace").partition("\n")[0].partition(" ")[0]
    return at_address(load, host, address) if address else load


def at_address(load: Load, host: str, address: str) -> Load:
    """The load with this address instead of the host's name."""
    return replace(load, url=f"{HTTP}{address}{load.url[len(HTTP) + len(host) :]}")

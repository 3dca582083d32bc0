"""A load, as the tools take it, and the command line that makes it."""

from __future__ import annotations

from dataclasses import dataclass


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

    `most_workers` caps the open requests of an open loop.
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

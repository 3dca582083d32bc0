"""One load: what a tool is asked to make, and the command line that it makes of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a service is asked, apart from its address.

    `headers` are lines, `body_file` a path; of a user's own app these are of its first request, and `requests` is the
    folder that has all `targets` of them.
    """

    method: str = "GET"
    headers: tuple[str, ...] = ()
    body_file: str | None = None
    requests: str | None = None
    targets: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A request again and again. Times are in seconds, `rate` is in requests/s; None where the level does not set it.

    `most_workers` bounds what an open loop may have under way, where that is not to be all that can be.
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
    """A tool's command line, and what it reads from its standard input; '' is nothing."""

    argv: tuple[str, ...]
    stdin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A load as a plan knows it, before there is a service: enough to tell whether a tool can make it.

    `targets` is 0 for a request of the contract.
    """

    open_loop: bool
    rate: bool
    count: bool
    method: str
    targets: int

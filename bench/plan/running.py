"""A server that already runs (--target) as a row of a run: its address, and its place in the plan.

It is not a container of this project: its limits are unknown, and it has no counters.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from bench.core.errors import UserError
from bench.core.exchange import Exchange
from bench.matrix.model import Load, Matrix, Preset, Route, Service
from bench.own_app.targets import slug
from bench.tools.levels import Level

UNKNOWN = "unknown"
"""Stands for its Python and base image."""
MODEL = "a server that already runs"
NO_CONTAINER = "not a container of this project"
NO_COUNTERS = f"no counters: {NO_CONTAINER}"
OWNED = "--i-own-this-target"
TOOLS, LEVELS, ROUNDS = ("wrk",), (Level("c16", 16),), 3
"""The default load of a run that has only servers that already run."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that already runs. `path` is empty if the URL has none; `scheme` is http or https.

    `owned`: it is on another machine, and the user states to own it.
    """

    host: str
    port: int
    path: str = ""
    owned: bool = False
    scheme: str = "http"

    @property
    def origin(self) -> str:
        """Its URL without a path."""
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def name(self) -> str:
        """The name of its service."""
        host = f"ipv6{self.host.replace(':', '-')}" if ":" in self.host else self.host
        return f"target-{host}-{self.port}"

    def service(self) -> Service:
        """The server as a service of a plan, which is assumed to offer every route."""
        return Service.foreign(self.name, UNKNOWN, MODEL, url=self.origin, owned=self.owned)


def parse_running(text: str, *, owned: bool) -> RunningServer:
    """The server at a URL; UserError if the URL is invalid or this server may not be loaded."""
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as error:
        raise UserError(f"--target {text!r} is not a URL: {error}") from None
    host = url.hostname or ""
    if "@" in url.netloc:
        raise UserError("--target: no credentials in the URL: they would be in the results")
    if problem := _problem(text, url, host):
        raise UserError(f"--target {text!r}: {problem}")
    if port == 0:
        raise UserError(f"--target {text!r}: port 0 is not valid")
    host = "127.0.0.1" if host == "localhost" else host
    here = is_loopback(host)
    if not here and not owned:
        raise UserError(
            f"--target {text!r}: {host} is not this machine (127.0.0.0/8, ::1, localhost), and loading someone else's"
            f" server is an attack: if you own it, add {OWNED}"
        )
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    port = port or {"http": 80, "https": 443}[url.scheme]
    return RunningServer(host, port, "" if path == "/" else path, owned=not here, scheme=url.scheme)


def is_loopback(host: str) -> bool:
    """Whether `host` is a loopback address; names are not resolved."""
    address = _address(host)
    # For IPv6 only ::1: Python also calls mapped IPv4 addresses (::ffff:127.0.0.1) loopback.
    here_4 = address is not None and address.version == 4 and address.is_loopback
    return here_4 or address == ipaddress.IPv6Address("::1")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return None if "%" in host else ipaddress.ip_address(host)
    except ValueError:
        return None


def _problem(text: str, url: SplitResult, host: str) -> str:
    """What is wrong with a URL; empty if nothing is."""
    if url.scheme not in ("http", "https"):
        return "give a URL such as http://127.0.0.1:8000/path"
    if "#" in text:
        return "a fragment (#...) is never sent to a server"
    if not re.match(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z", host) and _address(host) is None:
        return f"'{host}' is not a host"
    if not re.match(r"[\x21-\x7e]*\Z", url.path + url.query):
        return "the path must be percent-encoded"
    return ""


def check_running(servers: Sequence[RunningServer], *, alone: bool) -> None:
    """UserError if a server is given twice, or one beside services (not `alone`) has a path of its own."""
    names = [one.name for one in servers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"--target: {twice.removeprefix('target-')} is given twice")
    with_path = next((one for one in servers if one.path), None)
    if with_path and not alone:
        raise UserError(
            f"--target {with_path.origin}{with_path.path}: beside services it gets the same requests as they do; give"
            f" {with_path.origin}, and choose the requests with --scenario or, for --app, --targets"
        )


def with_running(
    matrix: Matrix, preset: Preset, servers: Sequence[RunningServer], *, alone: bool, scenarios: bool
) -> tuple[Matrix, Preset]:
    """The matrix with the routes of these servers, and the preset with their loads.

    `alone`: no service of this project is measured beside them; `scenarios`: the command line selects scenarios.
    """
    names = tuple(one.name for one in servers)
    if not alone:
        loads = tuple(replace(load, stacks=(*load.stacks, *names)) if load.stacks else load for load in preset.loads)
        return matrix, replace(preset, loads=loads)
    preset = replace(preset, name="target", rounds=ROUNDS)
    if scenarios:
        return matrix, preset
    routes: dict[str, Route] = {}
    asked: dict[str, list[str]] = {}
    for server in servers:
        exchange = Exchange(path=server.path or "/")
        # Two paths may have the same slug.
        name = slug(exchange.method, exchange.path)
        free = (name, *(f"{name}-{number}" for number in range(2, 100)))
        scenario = next(s for s in free if s not in routes or routes[s].exchange == exchange)
        routes[scenario] = Route(scenario, scenario, exchange, waits=True)
        asked.setdefault(scenario, []).append(server.name)
    loads = tuple(Load((scenario,), TOOLS, LEVELS, stacks=tuple(who)) for scenario, who in asked.items())
    return replace(matrix, routes={**matrix.routes, **routes}), replace(preset, loads=loads)

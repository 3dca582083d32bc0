"""The client of events: an open loop on raw sockets that logs the outcome of each request (bench/load/client.py)."""

from __future__ import annotations

import platform

from bench.tools.parsed import Parsed, absent
from bench.tools.tool import CannotError, Command, Load, Tool

REQUESTS, CAPACITY, SLOW, EVENTS = "requests.tsv.gz", "capacity.json", "slow.tsv", "events.json"
"""Raw files: one line per request; the service's capacity; slow connections; the actions of the driver."""
PROXY = "proxy.log"
"""The log of the proxy in front of the service: each request that went through it, and failures."""


class Sockets(Tool):
    """Not a program: the steps of events contain the client, and no level can select it."""

    name = "sockets"
    speaks = frozenset({("http", "http/1.1")})
    duration_digit_s = latency_digit_s = 0.0
    output = REQUESTS
    results = REQUESTS
    more_files = (CAPACITY, SLOW, EVENTS, PROXY)

    def refusal(self, load: Load) -> str | None:
        """Always refused: only events use it."""
        return "sockets makes the load of events alone (--event)"

    def version(self) -> str:
        """The version of the Python that runs it."""
        return platform.python_version()

    def command(self, load: Load) -> Command:
        """Always CannotError: it is not a program."""
        raise CannotError("be called: events have it")

    def parse(self, data: bytes) -> Parsed:
        """Always absent: bench/records/make_event.py reads its log."""
        return absent(self.name, "its log has requests, and no report")

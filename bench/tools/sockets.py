"""The client of events: raw sockets, an open loop, and a log of what became of each request (bench/load/client.py)."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from bench.tools.parsed import Parsed, absent
from bench.tools.tool import Asked, CannotError, Command, Load, Tool

REQUESTS, CAPACITY, SLOW, EVENTS = "requests.tsv.gz", "capacity.json", "slow.tsv", "events.json"
"""Raw files: a line for each request; what the service held before; other connections; what was done, by the driver."""
PROXY = "proxy.log"
"""What the proxy before the service says of each request that went through it, and of failures."""


class Sockets(Tool):
    """No program: a step of an event runs it itself, and no level asks for it."""

    name = "sockets"
    duration_digit_s = latency_digit_s = 0.0
    output = REQUESTS
    results = REQUESTS
    more_files = (CAPACITY, SLOW, EVENTS, PROXY)

    def refusal(self, asked: Asked) -> str | None:
        """Always: only events have it."""
        return "sockets makes the load of events alone (--event)"

    def version(self) -> str:
        """That of the Python that runs it."""
        return platform.python_version()

    def command(self, load: Load) -> Command:
        """CannotError: it is no program."""
        raise CannotError("be called: events have it")

    def keeps_alive(self, argv: Sequence[str]) -> bool:
        """As the event says."""
        return True

    def parse(self, data: bytes) -> Parsed:
        """Its log is read by bench/records/make_event.py."""
        return absent(self.name, "its log has requests, and no report")

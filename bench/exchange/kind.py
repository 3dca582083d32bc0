"""What a kind of exchange says about itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, Protocol

from bench.core.exchange import Exchange
from bench.tools import TOOLS
from bench.tools.parsed import Parsed
from bench.tools.tool import Load, Tool

STREAMS, WARM_UP = "streams", 8
"""A load tool, and the connections of its warm-ups."""
SILENT = "000"
"""The status if there is no response."""
LEAST_QUIET_S, MOST_QUIET_S = 0.02, 0.5
"""Bounds of the time after which a service that has neither worked nor responded is considered idle."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response outside of a load: status, seconds until it was complete ('' if unknown), error message ('' if none).

    `body_s`: the seconds of these after its first byte; `body`: how its body begins. `opening_bytes`: those that the
    server sends on each connection before any response.
    """

    status: str
    seconds: str
    error: str
    body_s: float = 0.0
    body: str = ""
    opening_bytes: int = 0


class Warmed(NamedTuple):
    """The good responses in a warm-up; without any, what came instead, or the error; '' if there is none."""

    good: int
    wrong: str
    error: str


def idle_after_s(response_s: float | None, connections: int) -> float:
    """How long to wait without any response until a service counts as idle.

    A service may process what came on all connections before it sends the first response, so it is 1.5 times the
    duration of a single response for each connection.
    """
    return min(MOST_QUIET_S, max(LEAST_QUIET_S, 1.5 * (response_s or 0.0) * connections))


def header_pairs(load: Load) -> list[tuple[str, str]]:
    """The load's header lines as pairs of name and value."""
    return [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in load.headers)]


def warm_up_by_streams(load: Load, seconds: float) -> tuple[Tool, Load]:
    """The warm-up of kinds that `streams` loads: at full speed, on few connections, which begin again when they end."""
    connections = min(WARM_UP, load.connections or WARM_UP)
    return TOOLS[STREAMS], replace(load, connections=connections, count=None, rate=None, duration_s=seconds)


def warmed_by_streams(output: str, exchange: Exchange) -> Warmed:
    """What its output says."""
    return warmed_by(TOOLS[STREAMS].parse(output.encode()))


def warmed_by(parsed: Parsed) -> Warmed:
    """What the report of a warm-up says."""
    errors = {kind: count for kind, count in asdict(parsed.errors).items() if isinstance(count, int) and count}
    wrong, other = errors.pop("non2xx", 0), parsed.errors.other
    named = other.items() if isinstance(other, dict) else ()
    bad = [f"{count} {kind}" for kind, count in (("refused", wrong), *named) if count]
    error = ", ".join(f"{kind} {count}" for kind, count in errors.items()) or parsed.failure or ""
    return Warmed(parsed.ok or 0, ", ".join(bad), error)


class Kind(Protocol):
    """What depends on the kind of an exchange: the package of a kind has these names. Times are in seconds."""

    unit: str
    """What counts as a success."""
    rated: str
    """What figures are given for, and per second: `request`."""
    quiet: bool
    """Whether nothing is in flight once the server has answered; otherwise it is frozen between its turns."""
    one_at_a_time: bool
    """Whether each connection of a closed loop has one unit in flight, so that Little's law holds."""
    checks: str
    """The module with the checks of its routes (`bench.contract.checks`)."""

    def ask(self, load: Load, timeout_s: float) -> Response:
        """Make the exchange of a load once."""

    def quiet_s(self, response_s: float | None, connections: int) -> float:
        """How long to wait without any response and work until a service counts as idle."""

    def rest_s(self, response: Response | None) -> float:
        """How long to wait for the rest of a response that comes in parts."""

    def warm_up(self, load: Load, seconds: float) -> tuple[Tool, Load]:
        """The tool and the load that warm a service up."""

    def warmed(self, output: str, exchange: Exchange) -> Warmed:
        """What the output of the warm-up says."""

    def most_possible(self, at_once: int, whose: str, wait_s: float) -> tuple[float, str]:
        """(highest possible rate, why) of so many exchanges at once (`whose` limit that is) if each waits so long."""

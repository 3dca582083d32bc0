"""What a kind of exchange says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from bench.core.exchange import Exchange
from bench.tools.tool import Load, Tool

SILENT = "000"
"""The status if there is no response."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response outside of a load: status, seconds until it was complete ('' if unknown), error message ('' if none).

    `body_s`: the seconds of these after its first byte; `body`: how its body begins.
    """

    status: str
    seconds: str
    error: str
    body_s: float = 0.0
    body: str = ""


class Warmed(NamedTuple):
    """The good responses in a warm-up; without any, what came instead, or the error; '' if there is none."""

    good: int
    wrong: str
    error: str


class Kind(Protocol):
    """What depends on the kind of an exchange: the package of a kind has these names. Times are in seconds."""

    unit: str
    """What counts as a success."""
    quiet: bool
    """Whether nothing is in flight once the server has answered; otherwise services do not take turns."""
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

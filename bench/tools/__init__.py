"""The load tools, one module each: the tool's command line, its limitations, and the parser of its output."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bench.tools.ab import Ab
from bench.tools.hey import Hey
from bench.tools.parsed import Parsed
from bench.tools.sockets import Sockets
from bench.tools.tool import Tool
from bench.tools.vegeta import Vegeta
from bench.tools.wrk import Wrk

TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in (Wrk(), Ab(), Hey(), Vegeta())})
"""The tools that can be selected, by name, in the order of reports."""
OPEN_LOOP = "vegeta"
"""The default tool for loads at a rate."""
SOCKETS = Sockets()
"""The client of events, which cannot be selected."""


def tool_of(name: str) -> Tool:
    """The tool of a measurement, by name; KeyError for an unknown name."""
    return SOCKETS if name == SOCKETS.name else TOOLS[name]


def parse(tool: str, data: bytes) -> Parsed:
    """Parse a tool's raw output (stdout and stderr together).

    Never fails because of `data`; KeyError for a tool that is not in `TOOLS`. Only binary results of vegeta need a
    program (vegeta itself) to decode them.
    """
    return TOOLS[tool].parse(data)


def attempts_of(tool: str, parsed: Parsed) -> int | None:
    """Requests started: as reported by the tool, else completed requests plus failed ones that these do not include."""
    if parsed.attempts is not None or parsed.requests is None:
        return parsed.attempts
    return parsed.requests + sum(getattr(parsed.errors, kind) or 0 for kind in TOOLS[tool].uncounted)


def attack_s(rate: float | None, parsed: Parsed) -> float | None:
    """Seconds over which requests were started: vegeta's `attack_s` is one interval shorter than that."""
    attack = (parsed.extra or {}).get("attack_s")
    if isinstance(attack, int | float) and rate:
        return attack + 1 / rate
    return parsed.duration_s


def sent_rate_of(tool: str, rate: float | None, parsed: Parsed) -> float | None:
    """Requests started per second; None if the output lacks the figures."""
    attempts, duration = attempts_of(tool, parsed), attack_s(rate, parsed)
    return attempts / duration if attempts is not None and duration else None


def goodput_of(tool: str, parsed: Parsed | None) -> float | None:
    """Successes per second.

    If the printed duration is rounded (5.00 s may be 5.004 s), it is derived from the tool's own rate instead.
    """
    if parsed is None or parsed.ok is None:
        return None
    counted = TOOLS[tool].counted_in_rate(parsed) if TOOLS[tool].duration_digit_s else None
    if counted and parsed.rps is not None:
        return parsed.rps * parsed.ok / counted
    return parsed.ok / parsed.duration_s if parsed.duration_s else None

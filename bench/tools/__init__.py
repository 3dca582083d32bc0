"""The load tools, one module each: the tool's command line, its limitations, and the parser of its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from bench.tools.ab import Ab
from bench.tools.hey import Hey
from bench.tools.parsed import Parsed
from bench.tools.sockets import Sockets
from bench.tools.streams import Streams
from bench.tools.tool import Tool
from bench.tools.vegeta import Vegeta
from bench.tools.wrk import Wrk

TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in (Wrk(), Ab(), Hey(), Vegeta(), Streams())})
"""The tools that can be selected, by name, in the order of reports."""
OPEN_LOOP = "vegeta"
"""The default tool for loads at a rate."""
SOCKETS = Sockets()
"""The client of events, which cannot be selected."""


def tool_of(name: str) -> Tool:
    """The tool of a measurement, by name; KeyError for an unknown name."""
    return SOCKETS if name == SOCKETS.name else TOOLS[name]


def parse(tool: str, data: bytes, redirects: Sequence[int] = ()) -> Parsed:
    """Parse a tool's raw output (stdout and stderr together). Responses with the statuses `redirects` are good, too.

    Never fails because of `data`; KeyError for a tool that is not in `TOOLS`. Only binary results of vegeta need a
    program (vegeta itself) to decode them.
    """
    parsed = TOOLS[tool].parse(data)
    errors, status = parsed.errors, parsed.errors.status
    # Without counts by status, wrk counts every 3xx as good, and ab refuses such loads.
    if not redirects or status is None or parsed.ok is None or errors.non2xx is None:
        return parsed
    more = sum(status.get(str(code), 0) for code in {*redirects})
    return replace(parsed, ok=parsed.ok + more, errors=replace(errors, non2xx=errors.non2xx - more))


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
    """Requests or streams started per second; None if the output lacks the figures."""
    attempts = (parsed.extra or {}).get("begun", attempts_of(tool, parsed))
    duration = attack_s(rate, parsed)
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

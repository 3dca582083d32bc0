"""Levels: how hard a cell is loaded. `c64`, `c16n1000`, `c100r8000` (closed loop), `r500` (open loop).

`knee-p99-50ms`, or `knee:p99=50ms`, is the highest rate at which p99 stays within 50 ms; `knee70-p99-50ms` is 70 % of
what the slowest service of the same run and scenario has as its knee.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench.core.errors import UserError

LEVEL = re.compile(r"(?:c([1-9]\d{0,5}))?(?:n([1-9]\d{0,8}))?(?:r([1-9]\d{0,6}))?\Z", re.ASCII)
KNEE = re.compile(r"knee([1-9]\d)?[:-]p99[=-]([1-9]\d{0,3})ms\Z", re.ASCII)
SEARCHED = "knee-"
"""How the names of levels begin whose rate is searched."""
MOST_KNEE_MS = 2000
"""Limits above which the trials that bench/knee.py makes would be too short to see them passed."""


@dataclass(frozen=True, slots=True)
class Level:
    """Connections, requests in all, and requests/s asked; None where the level does not say.

    `knee_p99_s` is the limit in seconds by which a rate is searched, `knee_share` the share of it that is asked.
    """

    name: str
    connections: int | None = None
    count: int | None = None
    rate: int | None = None
    knee_p99_s: float | None = None
    knee_share: float | None = None

    @property
    def open_loop(self) -> bool:
        """Whether it asks for a rate without regard to answers."""
        return self.connections is None


def parse_level(text: str) -> Level:
    """Level of its name; a bare number means that many connections. UserError when it is none."""
    if text.startswith("knee"):
        return _knee(text)
    name = f"c{int(text)}" if text.isascii() and text.isdigit() and int(text) else text
    found = LEVEL.match(name)
    if not found or not name or (found[1] is None and (found[2] or not found[3])):
        raise UserError(
            f"level '{text}' is no number: give connections (64), c16n1000, c100r8000, a rate (r500) or knee:p99=50ms"
        )
    c, n, r = (int(g) if g else None for g in found.groups())
    return Level(name, c, n, r)


def _knee(text: str) -> Level:
    found = KNEE.match(text)
    if not found or int(found[2]) > MOST_KNEE_MS:
        raise UserError(
            f"level '{text}': give knee:p99=50ms, or knee70:p99=50ms for 70 % of it; 1 to {MOST_KNEE_MS} ms"
        )
    share, limit = found[1], int(found[2])
    return Level(
        f"{f'knee{share}-' if share else SEARCHED}p99-{limit}ms",
        knee_p99_s=limit / 1000,
        knee_share=int(share) / 100 if share else None,
    )


def refusal(tool: str, level: Level, method: str) -> str | None:
    """Why `tool` cannot send this load, or None when it can."""
    if tool == "vegeta":
        return None if level.open_loop else "vegeta is open loop: it takes rates (r500, knee:p99=50ms)"
    if level.open_loop:
        return f"{tool} is closed loop: it takes connections (c64)"
    if level.rate and tool != "hey":
        return f"{tool} cannot be asked for a rate"
    if level.count and tool == "wrk":
        return "wrk runs for a time, not for a count"
    if method != "GET" and tool == "wrk":
        return "wrk sends a body only with a Lua script"
    return None

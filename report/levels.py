"""Levels: how hard a cell is loaded. `c64`, `c16n1000`, `c100r8000` (closed loop), `r500` (open loop)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from report.errors import UserError

LEVEL = re.compile(r"(?:c([1-9]\d{0,5}))?(?:n([1-9]\d{0,8}))?(?:r([1-9]\d{0,6}))?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Level:
    """Connections, requests in all, and requests/s asked; None where the level does not say."""

    name: str
    connections: int | None = None
    count: int | None = None
    rate: int | None = None

    @property
    def open_loop(self) -> bool:
        """Whether it asks for a rate without regard to answers."""
        return self.connections is None


def parse_level(text: str) -> Level:
    """Level of its name; a bare number means that many connections. UserError when it is none."""
    name = f"c{int(text)}" if text.isascii() and text.isdigit() and int(text) else text
    found = LEVEL.match(name)
    if not found or not name or (found[1] is None and (found[2] or not found[3])):
        raise UserError(f"level '{text}' is no number: give connections (64), c16n1000, c100r8000 or a rate (r500)")
    c, n, r = (int(g) if g else None for g in found.groups())
    return Level(name, c, n, r)


def refusal(tool: str, level: Level, method: str) -> str | None:
    """Why `tool` cannot send this load, or None when it can."""
    if tool == "vegeta":
        return None if level.open_loop else "vegeta is open loop: it takes rates (r500)"
    if level.open_loop:
        return f"{tool} is closed loop: it takes connections (c64)"
    if level.rate and tool != "hey":
        return f"{tool} cannot be asked for a rate"
    if level.count and tool == "wrk":
        return "wrk runs for a time, not for a count"
    if method != "GET" and tool == "wrk":
        return "wrk sends a body only with a Lua script"
    return None

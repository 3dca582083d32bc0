"""Levels: how hard a cell is loaded. `FORMS` shows how they are written; in a knee, `-` may replace `:` and `=`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bench.core.errors import UserError, unknown
from bench.tools import OPEN_LOOP, TOOLS
from bench.tools.tool import Asked

LEVEL = re.compile(r"(?:c([1-9]\d{0,5}))?(?:n([1-9]\d{0,8}))?(?:r([1-9]\d{0,6}))?(?:t([1-9]\d{1,4}))?\Z", re.ASCII)
KNEE = re.compile(r"knee([1-9]\d)?[:-]p99[=-]([1-9]\d{0,3})ms\Z", re.ASCII)
SHARE = re.compile(r"share([1-9]\d)\Z", re.ASCII)
FORMS: Mapping[str, str] = {
    "64": "64 connections, each sends its next request once the response is there (closed loop); also c64",
    "c16t1000": "16 connections, in a table whose turns take 1,000 ms on average, to see what short turns cost",
    "c16n1000": "1,000 requests in all over 16 connections (closed loop)",
    "c100r8000": "100 connections, at most 8,000 requests/s in all (closed loop)",
    "r500": "500 requests/s, sent on schedule regardless of the responses (open loop)",
    "knee:p99=50ms": "the highest rate that keeps p99 within 50 ms (open loop, searched)",
    "knee70:p99=50ms": "70 % of the lowest such rate of the run's services (open loop)",
    "share50": "after a table in turns: all its services at 50 % of the slowest one's speed (open loop), for latency",
}
"""An example of each form of a level, and its meaning."""
SEARCHED = "knee-"
"""The prefix of levels whose rate is searched."""
MOST_KNEE_MS = 2000
"""The largest p99 limit: the trials of `bench.load.knee_search` are too short for latency to exceed a larger one."""


@dataclass(frozen=True, slots=True)
class Level:
    """Connections, total requests (`count`), target rate in requests/s and the average length of a table's turns in
    seconds (`turn_s`); None if the level does not set it.

    `knee_p99_s`: the p99 limit of a search, in seconds; `knee_share`: the target rate as a share of the knee.
    `share`: the target rate as a share of the slowest service's speed in a table, and at most this share of what the
    load tool can send.
    """

    name: str
    connections: int | None = None
    count: int | None = None
    rate: int | None = None
    turn_s: float | None = None
    knee_p99_s: float | None = None
    knee_share: float | None = None
    share: float | None = None

    @property
    def open_loop(self) -> bool:
        """Whether requests are sent at a fixed rate, however slow the responses are."""
        return self.connections is None


def parse_level(text: str) -> Level:
    """The level with this name; a bare number is a number of connections. UserError if there is no such level."""
    if text.startswith("knee"):
        return _knee(text)
    if found := SHARE.match(text):
        return Level(text, share=int(found[1]) / 100)
    name = f"c{int(text)}" if text.isascii() and text.isdigit() and int(text) else text
    found = LEVEL.match(name)
    c, n, r, t = (int(g) if g else None for g in found.groups()) if found else (None,) * 4
    # Only services in turns have turns: those of a closed loop that lasts for as long as it should.
    if (c is None and (n or not r)) or (t and (n or r)):
        raise unknown("level", text, FORMS)
    return Level(name, c, n, r, t and t / 1000)


def _knee(text: str) -> Level:
    found = KNEE.match(text)
    if not found:
        raise unknown("level", text, FORMS)
    if int(found[2]) > MOST_KNEE_MS:
        raise UserError(f"level '{text}': p99 of a knee is limited to 1 to {MOST_KNEE_MS} ms")
    share, limit = found[1], int(found[2])
    return Level(
        f"{f'knee{share}-' if share else SEARCHED}p99-{limit}ms",
        knee_p99_s=limit / 1000,
        knee_share=int(share) / 100 if share else None,
    )


def refusal(tool: str, level: Level, method: str, targets: int = 0) -> str | None:
    """Why `tool` cannot generate this load; None if it can.

    `targets`: how many different requests of a user's own app it must send; 0: one request of the contract.
    """
    if level.share is not None and tool != OPEN_LOOP:
        return f"common rates are loaded by {OPEN_LOOP}"
    rate, count = level.rate is not None, level.count is not None
    return TOOLS[tool].refusal(Asked(open_loop=level.open_loop, rate=rate, count=count, method=method, targets=targets))

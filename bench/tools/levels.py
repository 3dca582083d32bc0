"""Levels: how hard a cell is loaded. `FORMS` shows how they are written; in a knee, `-` may replace `:` and `=`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from bench.core.errors import UserError, unknown
from bench.core.exchange import Exchange
from bench.core.typed import TextValue, read_text
from bench.tools import OPEN_LOOP, TOOLS
from bench.tools.tool import Load

LEVEL = re.compile(
    r"(?:c([1-9]\d{0,5}))?(?:n([1-9]\d{0,8}))?(?:r([1-9]\d{0,6}))?(?:t([1-9]\d{1,4}))?(close)?\Z", re.ASCII
)
KNEE = re.compile(r"knee([1-9]\d)?[:-]p99[=-]([1-9]\d{0,3})ms\Z", re.ASCII)
SHARE = re.compile(r"share([1-9]\d)(close)?\Z", re.ASCII)
FORMS: Mapping[str, str] = {
    "64": "64 connections, each sends its next request once the response is there (closed loop); also c64",
    "c16t1000": "16 connections, in a table whose turns take 1,000 ms on average, to see what short turns cost",
    "c16close": "16 connections at once, each closed after one response (closed loop); also r500close",
    "c16n1000": "1,000 requests in all over 16 connections (closed loop)",
    "c100r8000": "100 connections, at most 8,000 requests/s in all (closed loop)",
    "r500": "500 requests/s, sent on schedule regardless of the responses (open loop)",
    "knee:p99=50ms": "the highest rate that keeps p99 within 50 ms (open loop, searched)",
    "knee70:p99=50ms": "70 % of the lowest such rate of the run's services (open loop)",
    "share50": "after a table in turns: all its services at 50 % of the slowest one's speed (open loop), for latency",
}
"""An example of each form of a level, and its meaning."""
CLOSE = "close"
"""The suffix of levels that send one request per connection."""
MOST_KNEE_MS = 2000
"""The largest p99 limit: the trials of `bench.load.knee_search` are too short for latency to exceed a larger one."""


class Level(TextValue):
    """Connections, total requests (`count`), target rate in requests/s and the average length of a table's turns in
    seconds (`turn_s`); None if the level does not set it.

    `knee_p99_s`: the p99 limit of a search, in seconds; `knee_share`: the target rate as a share of the knee.
    `share`: the target rate as a share of the slowest service's speed in a table, and at most this share of what the
    load tool can send. `closes`: each request has a connection of its own, which is closed after the response.
    """

    text: str
    connections: int | None = None
    count: int | None = None
    rate: int | None = None
    turn_s: float | None = None
    knee_p99_s: float | None = None
    knee_share: float | None = None
    share: float | None = None
    closes: bool = False

    @staticmethod
    def parse(text: str) -> Level:
        """The level with this name; a bare number is a number of connections. UserError if there is no such level."""
        level = _known(text)
        if level is None:
            raise unknown("level", text, FORMS)
        if (level.knee_p99_s or 0) * 1000 > MOST_KNEE_MS:
            raise UserError(f"level '{text}': p99 of a knee is limited to 1 to {MOST_KNEE_MS} ms")
        return level

    @staticmethod
    def read(value: Any) -> Level:
        """The level in a file: of an event's, or one of another version, only the name is known."""
        return _known(text := read_text(value)) or Level(text)

    def over(self, connections: int) -> Level:
        """The same load of a closed loop over another number of connections."""
        return Level.parse(re.sub(r"\Ac\d+", f"c{connections}", self.text))

    @property
    def open_loop(self) -> bool:
        """Whether requests are sent at a fixed rate, however slow the responses are."""
        return self.connections is None

    @property
    def searched(self) -> bool:
        """Whether its rate is searched: that of a knee."""
        return self.knee_p99_s is not None and self.knee_share is None


@lru_cache(256)
def _known(text: str) -> Level | None:
    if knee := KNEE.match(text):
        share, limit = knee[1], int(knee[2])
        name = f"knee{share or ''}-p99-{limit}ms"
        return Level(name, knee_p99_s=limit / 1000, knee_share=int(share) / 100 if share else None)
    if common := SHARE.match(text):
        return Level(text, share=int(common[1]) / 100, closes=common[2] is not None)
    name = f"c{int(text)}" if text.isascii() and text.isdigit() and int(text) else text
    found = LEVEL.match(name)
    *numbers, closes = found.groups() if found else (None,) * 5
    c, n, r, t = (int(number) if number else None for number in numbers)
    # Only services in turns have turns: those of a closed loop that lasts for as long as it should.
    if (c is None and (n or not r)) or (t and (n or r)):
        return None
    return Level(name, c, n, r, t and t / 1000, closes=closes is not None)


class LoadKey(NamedTuple):
    """What identifies a load in a run, and so a table: all of its services have it."""

    scenario: str
    tool: str
    level: Level

    def __str__(self) -> str:
        return f"{self.scenario} {self.tool} {self.level}"


class ToolLevel(TextValue):
    """The tool and level of a table."""

    text: str
    tool: str
    level: Level

    @staticmethod
    def read(value: Any) -> ToolLevel:
        """The tool and level in a file, such as `wrk c16`."""
        tool, _, level = (text := read_text(value)).partition(" ")
        return ToolLevel(text, tool, Level.read(level))


def rate_level(rate: int, *, closes: bool) -> Level:
    """This many requests/s; `closes`: each on a connection of its own."""
    return Level(f"r{rate}{CLOSE * closes}", rate=rate, closes=closes)


def knee_level(p99_s: float) -> Level:
    """The search for a knee with this p99 limit."""
    return Level(f"knee-p99-{round(1000 * p99_s)}ms", knee_p99_s=p99_s)


def beside(rate: Level, table: Level) -> Level:
    """A common rate as it is loaded after a table: with new connections if the table's are, else with kept ones."""
    if rate.share is None:
        return rate
    return Level(rate.text.removesuffix(CLOSE) + CLOSE * table.closes, share=rate.share, closes=table.closes)


def refusal(tool: str, level: Level, exchange: Exchange) -> str | None:
    """Why `tool` cannot generate this load; None if it can."""
    if level.share is not None and tool != OPEN_LOOP:
        return f"common rates are loaded by {OPEN_LOOP}"
    numbers = {name: getattr(level, name) for name in ("connections", "count", "rate")}
    load = Load(exchange=exchange, keepalive=not level.closes, **numbers)
    return TOOLS[tool].unspoken(exchange) or TOOLS[tool].refusal(load)

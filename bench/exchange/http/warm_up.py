"""The warm-up: full speed on at most 8 connections, the same for all cells."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from bench.core.exchange import Exchange
from bench.exchange.kind import Warmed
from bench.tools import TOOLS
from bench.tools.tool import Load, Tool

TOOL, OF_SEVERAL = "hey", "wrk"
"""Its tool, and that for several targets: hey cannot mix them."""
CONNECTIONS = 8
_MIXED = re.compile(r"([1-9][0-9]*) requests in")
_STATUS = re.compile(r"\[([0-9]{3})\]\s+([0-9]+) responses")
_ERRORS = re.compile(r"(?:Error distribution|Socket errors):\s*([^\n]+)")


def warm_up(load: Load, seconds: float) -> tuple[Tool, Load]:
    """The tool and the load for this time."""
    connections = min(CONNECTIONS, load.connections or CONNECTIONS)
    tool = OF_SEVERAL if load.exchange.targets > 1 else TOOL
    # wrk only takes whole seconds.
    seconds = math.ceil(seconds) if tool == OF_SEVERAL else seconds
    return TOOLS[tool], replace(load, connections=connections, count=None, rate=None, threads=1, duration_s=seconds)


def warmed(output: str, exchange: Exchange) -> Warmed:
    """What the tool's output says."""
    good = [int(count) for status, count in _STATUS.findall(output) if exchange.is_good(int(status))]
    wrong, error = _STATUS.search(output), _ERRORS.search(output)
    number = sum(good) or sum(map(int, _MIXED.findall(output)[:1]))
    return Warmed(number, wrong[0] if wrong else "", error[1] if error else "")

"""The warm-up: at most 8 streams, begun again as soon as they end."""

from __future__ import annotations

from dataclasses import replace

from bench.core.exchange import Exchange
from bench.exchange.kind import Warmed, warmed_by
from bench.tools import TOOLS
from bench.tools.tool import Load, Tool

TOOL, STREAMS = "streams", 8


def warm_up(load: Load, seconds: float) -> tuple[Tool, Load]:
    """The tool and the load for this time."""
    streams = min(STREAMS, load.connections or STREAMS)
    return TOOLS[TOOL], replace(load, connections=streams, count=None, rate=None, duration_s=seconds)


def warmed(output: str, exchange: Exchange) -> Warmed:
    """What the tool's output says."""
    return warmed_by(TOOLS[TOOL].parse(output.encode()))

"""The warm-up: messages at full speed on at most 8 connections."""

from __future__ import annotations

from dataclasses import replace

from bench.core.exchange import Exchange
from bench.exchange.kind import Warmed, warmed_by
from bench.tools import TOOLS
from bench.tools.tool import Load, Tool

TOOL, CONNECTIONS = "streams", 8


def warm_up(load: Load, seconds: float) -> tuple[Tool, Load]:
    """The tool and the load for this time."""
    connections = min(CONNECTIONS, load.connections or CONNECTIONS)
    return TOOLS[TOOL], replace(load, connections=connections, count=None, rate=None, duration_s=seconds)


def warmed(output: str, exchange: Exchange) -> Warmed:
    """What the tool's output says."""
    return warmed_by(TOOLS[TOOL].parse(output.encode()))

"""The load tools, one class a module: a tool's command line, what it cannot do, and the parser of its output."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bench.tools.ab import Ab
from bench.tools.hey import Hey
from bench.tools.hold import Hold
from bench.tools.parsed import Parsed
from bench.tools.sockets import Sockets
from bench.tools.tool import Tool
from bench.tools.vegeta import Vegeta
from bench.tools.wrk import Wrk

TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in (Wrk(), Ab(), Hey(), Vegeta(), Hold())})
"""By name, in the order of reports: those that a selection may choose."""
OPEN_LOOP = "vegeta"
"""The tool for loads at a rate where nobody names one."""
SOCKETS = Sockets()
"""The client of events, which chooses itself."""


def tool_of(name: str) -> Tool:
    """The tool of a measurement; KeyError for one that there is not."""
    return SOCKETS if name == SOCKETS.name else TOOLS[name]


def parse(tool: str, data: bytes) -> Parsed:
    """Parse a tool's raw output (stdout and stderr together).

    Never fails on `data`; raises `KeyError` for a tool that is not in `TOOLS`. Runs a program only to decode vegeta's
    binary results (vegeta itself).
    """
    return TOOLS[tool].parse(data)

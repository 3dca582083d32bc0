"""The load tools, one module each: the tool's command line, its limitations, and the parser of its output."""

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

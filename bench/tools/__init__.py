"""The load tools, one class a module; everything that holds for one of them only is in its class.

Parsers are imported when they are needed: the load generator starts these modules between two loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from bench.tools.ab import Ab
from bench.tools.hey import Hey
from bench.tools.tool import Tool
from bench.tools.vegeta import Vegeta
from bench.tools.wrk import Wrk

if TYPE_CHECKING:
    from bench.parse import Parsed

TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in (Wrk(), Ab(), Hey(), Vegeta())})
"""By name, in the order of reports."""


def parse(tool: str, data: bytes) -> Parsed:
    """Parse a tool's raw output (stdout and stderr together).

    Never fails on `data`; raises `KeyError` for a tool that is not in `TOOLS`. Runs a program only to decode vegeta's
    binary results (vegeta itself).
    """
    return TOOLS[tool].parse(data)

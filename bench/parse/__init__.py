"""Reads the raw output of wrk, ab, hey and vegeta, without ever inventing a figure."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import MappingProxyType
from typing import BinaryIO, TextIO

from . import ab, hey, vegeta, wrk
from .parsed import Errors, Latency, Parsed

__all__ = ["TOOLS", "Errors", "Latency", "Parsed", "parse", "run"]

_PARSERS = MappingProxyType[str, Callable[[bytes], Parsed]](
    {"wrk": wrk.parse, "ab": ab.parse, "hey": hey.parse, "vegeta": vegeta.parse}
)
TOOLS = tuple(_PARSERS)


def parse(tool: str, data: bytes) -> Parsed:
    """Read one tool's output, stdout and stderr together, as it came.

    Never fails on ``data``; raises ``KeyError`` for a tool that is not in ``TOOLS``. Starts a program only
    for vegeta's binary results, which vegeta itself decodes.
    """
    return _PARSERS[tool](data)


def run(argv: list[str], stdin: BinaryIO | None = None, stdout: TextIO | None = None) -> int:
    """`parse TOOL < FILE`: print one JSON object; 2 with one line when TOOL is none of the tools."""
    if len(argv) != 1 or argv[0] not in _PARSERS:
        print(f"usage: parse TOOL < FILE, with TOOL one of {', '.join(TOOLS)}", file=sys.stderr)
        return 2
    data = (stdin or sys.stdin.buffer).read()
    print(json.dumps(parse(argv[0], data).as_dict(), allow_nan=False), file=stdout)
    return 0

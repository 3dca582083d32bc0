"""Parsers of the raw output of wrk, ab, hey and vegeta; a figure that the output lacks is never made up."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from . import ab, hey, vegeta, wrk
from .parsed import Errors, Latency, Parsed

__all__ = ["Errors", "Latency", "Parsed", "parse"]

_PARSERS = MappingProxyType[str, Callable[[bytes], Parsed]](
    {"wrk": wrk.parse, "ab": ab.parse, "hey": hey.parse, "vegeta": vegeta.parse}
)


def parse(tool: str, data: bytes) -> Parsed:
    """Parse a tool's raw output (stdout and stderr together).

    Never fails on ``data``; raises ``KeyError`` for a tool that is not in ``core.tools.TOOLS``. Runs a program only to
    decode vegeta's binary results (vegeta itself).
    """
    return _PARSERS[tool](data)

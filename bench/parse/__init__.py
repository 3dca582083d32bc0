"""Reads the raw output of wrk, ab, hey and vegeta, without ever inventing a figure."""

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
    """Read one tool's output, stdout and stderr together, as it came.

    Never fails on ``data``; raises ``KeyError`` for a tool that is not in ``core.tools.TOOLS``. Starts a program only
    for vegeta's binary results, which vegeta itself decodes.
    """
    return _PARSERS[tool](data)

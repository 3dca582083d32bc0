"""Words of earlier versions, and the line that says what to use instead."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from bench.core.tables import table_beside


@cache
def gone() -> Mapping[str, str]:
    """The line for each word."""
    return table_beside(__file__, dict[str, str])

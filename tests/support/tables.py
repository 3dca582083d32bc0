"""Tables of tests that are written by what their cases have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def cases(table: Mapping[Any, Iterable[Any]]) -> list[tuple[Any, Any]]:
    """(case, what it gives), from a table of what is given by which cases."""
    return [(case, given) for given, of_it in table.items() for case in of_it]

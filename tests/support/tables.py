"""Tables of tests: those that are written by what their cases have in common, and those in files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any


def cases(table: Mapping[Any, Iterable[Any]]) -> list[tuple[Any, Any]]:
    """(case, what it gives), from a table of what is given by which cases."""
    return [(case, given) for given, of_it in table.items() for case in of_it]


def rows(test: str, name: str) -> list[Any]:
    """The cases with this name in the cases.toml beside the test with this `__file__`."""
    found: list[Any] = _tables(Path(test).with_name("cases.toml"))[name]
    return found


@cache
def _tables(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))

"""Reads the facts of a module that stand in a TOML file beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def table_beside(module: str, kind: type[T]) -> T:
    """The TOML file that is called as the module with this `__file__`, as `kind`."""
    return msgspec.toml.decode(Path(module).with_suffix(".toml").read_bytes(), type=kind)

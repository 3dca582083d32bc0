"""The events of a bad day: a folder each, with its cases (event.toml) and a module for each stage in which it differs.

- `cases`: its cases, if they are adapted to each service (as part of bench.plan)
- `load`: what only its client does (bench.load)
- `figures`: what is read from its window (bench.records)
- `words`: its findings, the words of its cells, and what to set (bench.words)
- `known`: what the known server must show (calibration)

A module has one value, which is named like it: `CASES`, `LOAD`, ... It imports what events share, and no other event.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
NAMES = (
    *(
        "reload",
        "stop",
        "stop-streams",
        "killed",
        "hung",
        "recycle",
        "rolling",
        "idle-close",
        "overload",
        "slow",
        "connections",
    ),
    *("memory", "balance", "exhausted", "abandoned", "away"),
)
"""In the order in which they are planned and reported."""


def of_event(name: str, stage: str, shared: T) -> T:
    """What an event has of its own for a stage; `shared` if it has nothing, or is of another version."""
    own: T | None = _own(name, stage)
    return shared if own is None else own


def folder_of(name: str) -> Path:
    """Where all that is particular to an event stands."""
    return Path(__file__).parent / name.replace("-", "_")


@cache
def _own(name: str, stage: str) -> Any:
    folder = folder_of(name)
    if name not in NAMES or not (folder / f"{stage}.py").exists():
        return None
    return getattr(import_module(f"bench.events.{folder.name}.{stage}"), stage.upper())

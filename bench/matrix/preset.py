"""Presets: named selections of cells, with their loads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """A group of cells: every scenario x tool x level, on `stacks` (empty: those of the preset).

    `alone`: its services are measured one by one (solo), whatever the mode of the preset.
    """

    scenarios: tuple[str, ...]
    tools: tuple[str, ...]
    levels: tuple[str, ...]
    stacks: tuple[str, ...] = ()
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Preset:
    """A named selection of cells; durations in seconds."""

    name: str
    title: str
    loads: tuple[Load, ...]
    tables: tuple[str, ...]
    rounds: int
    duration: float
    warmup: float
    timeout: float
    workers: int | None
    stacks: tuple[str, ...]
    pythons: tuple[str, ...]
    bases: tuple[str, ...]
    packages: tuple[str, ...] = ()
    published: str | None = None
    keepalive: bool = True
    mode: str = "turns"
    turn_rounds: int | None = None
    """The most rounds of its tables; None: until the last interim look."""
    turn_seconds: float | None = None
    """Seconds of load of each service in a window of its tables; None: the setting TURN_SECONDS."""
    vary: tuple[str, ...] = ()
    """Knobs with their values (`WORKERS=1,2,4`): each service is measured with every combination."""
    vary_if_read: tuple[str, ...] = ()
    """The same of knobs that only some of its services read: the others are measured without."""

"""Windows that are set aside and measured again: those spoiled by noise of the host, those that lack a service, those
during which the clock was set, and those whose responses came after their turns.

The same goes for a step during which the database, the upstream or the load generator ended.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

RETRIES = 0.5
"""The maximum share of the planned windows that may be measured again."""
SPOILED = "spoiled"
"""Suffix of the folder of a window that was set aside: DIR.spoiled-1, ..."""
CLOCK, LATE = "clock", "late"
"""The same for a window during which the clock was set, or whose responses came after their turns. These retries do not
count towards those because of noise.
"""
NULL_TRIES = 1
"""How often a noisy window of the null server is measured again. More would gain little: other programs lower the
ceiling only by the CPU time that they take, and the kernel's work for the tool itself recurs each time.
"""

LOST, LOST_TRIES = "lost", 2
"""Suffix of the folder of a step in which a dependency of all services ended, and how often it is loaded again."""


def may_be_lost(place: Path) -> bool:
    """Whether a step that lost a dependency may be loaded again; if not, the loss is recorded."""
    return sum(1 for _ in place.parent.glob(f"{place.name}.{LOST}-*")) < LOST_TRIES


def may_be_noisy(place: Path, *, null: bool) -> bool:
    """Whether a window spoiled by noise may be measured again, considering its earlier tries."""
    return not null or sum(1 for _ in place.parent.glob(f"{place.name}.{SPOILED}-*")) < NULL_TRIES


def set_aside(place: Path, cause: str = SPOILED, parts: Collection[Path] = ()) -> None:
    """Rename a folder, which keeps its raw files; or move only these parts of it to a folder of that name."""
    number = 1 + sum(1 for _ in place.parent.glob(f"{place.name}.{cause}-*"))
    aside = place.with_name(f"{place.name}.{cause}-{number}")
    if not parts:
        place.rename(aside)
        return
    aside.mkdir()
    for part in filter(Path.exists, parts):
        there = aside / part.relative_to(place)
        there.parent.mkdir(parents=True, exist_ok=True)
        part.rename(there)

"""Windows that are set aside and measured again: noise of the host spoiled them, or a service was not in them.

So are the windows of a step during which the database, the upstream or the load generator ended.
"""

from __future__ import annotations

from pathlib import Path

RETRIES = 0.5
"""What may be measured again, as a share of what is planned."""
SPOILED = "spoiled"
"""What a window's folder is called that was measured again: DIR.spoiled-1, ..."""
NULL_TRIES = 1
"""How often a window of the null server is measured again for noise: what another program took lowers the limit that it
shows by so much and no more, and what a tool itself makes the kernel do is there again each time.
"""

LOST, LOST_TRIES = "lost", 2
"""What a step's folder is called in which something that all services need ended; how often it is loaded again."""


def may_be_lost(place: Path) -> bool:
    """Whether a step that lost something it needs is to be loaded again, rather than recorded as such."""
    return sum(1 for _ in place.parent.glob(f"{place.name}.{LOST}-*")) < LOST_TRIES


def may_be_noisy(place: Path, *, null: bool) -> bool:
    """Whether a window that noise spoiled may be measured again, as far as its earlier tries go."""
    return not null or sum(1 for _ in place.parent.glob(f"{place.name}.{SPOILED}-*")) < NULL_TRIES


def set_aside(place: Path, cause: str = SPOILED) -> None:
    """Rename a window's folder; its raw files stay."""
    number = 1 + sum(1 for _ in place.parent.glob(f"{place.name}.{cause}-*"))
    place.rename(place.with_name(f"{place.name}.{cause}-{number}"))

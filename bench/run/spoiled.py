"""Windows that noise of the host spoiled: set aside, and measured again."""

from __future__ import annotations

from pathlib import Path

RETRIES = 0.5
"""What may be measured again, as a share of what is planned."""
SPOILED = "spoiled"
"""What a window's folder is called that was measured again: DIR.spoiled-1, ..."""


def set_aside(place: Path) -> None:
    """Rename a window's folder; its raw files stay."""
    number = 1 + sum(1 for _ in place.parent.glob(f"{place.name}.{SPOILED}-*"))
    place.rename(place.with_name(f"{place.name}.{SPOILED}-{number}"))

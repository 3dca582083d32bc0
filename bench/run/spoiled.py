"""Windows that are set aside and measured again: noise of the host spoiled them, or a service was not in them."""

from __future__ import annotations

from pathlib import Path

RETRIES = 0.5
"""What may be measured again, as a share of what is planned."""
SPOILED = "spoiled"
"""What a window's folder is called that was measured again: DIR.spoiled-1, ..."""


def set_aside(place: Path, cause: str = SPOILED) -> None:
    """Rename a window's folder; its raw files stay."""
    number = 1 + sum(1 for _ in place.parent.glob(f"{place.name}.{cause}-*"))
    place.rename(place.with_name(f"{place.name}.{cause}-{number}"))

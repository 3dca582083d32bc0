"""Finds phrases that newcomers did not understand."""

from __future__ import annotations

import re
from pathlib import Path

PHRASES = Path(__file__).with_name("unclear_phrases.txt").read_text(encoding="utf-8").splitlines()
"""Each was in a text that a newcomer did not understand."""


def found_in(text: str) -> list[str]:
    """The phrases in a text, even if a line break in a paragraph, a comment or a string divides them."""
    joined = re.sub(r'"?\s*\n\s*(?:f?"|#|//)?\s*', " ", text).lower()
    return [phrase for phrase in PHRASES if phrase.lower() in joined]


def signs_in(columns: list[str], rows: list[list[str]]) -> list[str]:
    """Changes against the best service whose sign is wrong: none can have less CPU or more requests/s than the best."""
    found = []
    for place, name in enumerate(columns):
        worse = {"CPU against the best": "+0", "requests/s against the best": "-0"}.get(name)
        if worse:
            texts = [row[place].removeprefix("the best").strip() for row in rows if len(row) == len(columns)]
            found += [text for text in texts if text and text[0] not in f"{worse}–(b" and text != "first"]
    return found

"""Finds phrases that newcomers did not understand."""

from __future__ import annotations

import re

PHRASES = (
    "told apart",
    "the same in short",
    "hold at once",
    "nothing is waited for",
    "stays open",
    "which functions cost",
    "comes a load",
    "falls on all",
    "another load than",
    "not the throughput over",
    "nothing to wait for",
    "ms to wait",
    "with the least CPU?",
    "judged by successful",
    "ratio may be off",
    "most likely have been",
    "most likely have had",
    "would most likely",
    "may still divide",
    "would have been called",
    "more were not measured",
    "the same sign",
    "the opposite sign",
    "questions of this kind",
    "the rest needs",
    "level between",
    "as a speed against",
    "as one takes microseconds",
    "looked for ten times",
    "last words",
    "cut, however",
    "gravest",
    "steal does",
    "noise is paid",
    "word was false",
    "false word",
    "given again",
    "rights of the daemon",
    "requests/s of it by",
    "is not shown to be faster",
)
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

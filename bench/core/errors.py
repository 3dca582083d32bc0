"""The exception that ends a command with one line instead of a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

MOST_NAMES = 30
"""The most names that are listed in one line."""


class UserError(Exception):
    """An error that the user can fix; its text is one line that says how. Exit status 2."""


LONGEST = 1000


def one_line(words: object) -> str:
    """Words as a terminal may show them: they may quote a file or a name that holds anything."""
    text = str(words)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in text)


def unknown(what: str, word: str, names: Sequence[str]) -> UserError:
    """The error for a word that is not one of `names`: lists them, or the closest where there are many."""
    near = names if len(names) <= MOST_NAMES else get_close_matches(word, names, n=5, cutoff=0.3)
    known = f"there are: {', '.join(near)}" if near is names else f"closest of {len(names)}: {', '.join(near) or '-'}"
    return UserError(f"unknown {what} '{word}'; {known}")

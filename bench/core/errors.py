"""The exception that ends a command with one line instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LISTED = (
    "preset",
    "stack",
    "server",
    "framework",
    "Python",
    "base",
    "service",
    "scenario",
    "tool",
    "level",
    "knob",
    "event",
)
"""What has names of which `scripts/matrix.sh --list` prints all, by the word in the plural (bench/cli/names.py)."""
NEAR = 0.5
"""How alike (difflib's ratio) a name is at least to the word that may mean it: `flask` and `bjoern-flask` are."""


class UserError(Exception):
    """An error that the user can fix; its text is one line that says how. Exit status 2."""


LONGEST = 1000


def one_line(words: object) -> str:
    """Words as a terminal may show them: they may quote a file or a name that holds anything."""
    text = str(words)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in text)


def list_of(what: str) -> str:
    """The command that prints all names of one of `LISTED`."""
    return f"scripts/matrix.sh --list {what.lower()}s"


def unknown(what: str, word: str, names: Iterable[str], listed_by: str = "") -> UserError:
    """The error for a word that is not one of `names`: the nearest of them, and the command that prints them all.

    `listed_by`: that command; without one, of what is not in `LISTED`, the names follow.
    """
    names = list(names)
    bare = {name.casefold().strip("-"): name for name in names}
    near = [bare[one] for one in get_close_matches(word.casefold().strip("-"), bare, cutoff=NEAR)]
    listed_by = listed_by or (list_of(what) if what in LISTED else "")
    meant = f" did you mean {' or '.join(near)}?" if near else ""
    listed = f"{listed_by} lists all" if listed_by else f"there are: {', '.join(names) or 'none'}"
    return UserError(f"unknown {what} '{word}';{meant} {listed}")

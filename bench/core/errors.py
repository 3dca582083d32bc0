"""The exception that ends a command with one line instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from bench.core.formats import escaped
from bench.core.gone import gone

LISTED = (
    *("preset", "stack", "server", "framework", "Python", "base", "service", "scenario", "tool", "level"),
    *("knob", "event"),
)
"""Kinds of names that `scripts/matrix.sh --list` takes, in the plural (`--list presets`); see bench/cli/names.py."""
NEAR = 0.5
"""The lowest similarity (difflib's ratio) for a suggestion: `flask` suggests `bjoern-flask`."""


class UserError(Exception):
    """An error that the user can fix; its text is one line that says how. The exit status is 2."""

    status = 2


class EqualSides(UserError):
    """The two sides of a comparison are the same, so there is nothing to measure.

    The status tells CI and a bisection, which must not look for it in texts: these may quote a package.
    """

    status = 3


LONGEST = 1000


def one_line(words: object) -> str:
    """Text made safe for a terminal: unprintable characters escaped (it may quote any file or name), and shortened."""
    text = str(words)
    return escaped(text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}")


def unknown(what: str, word: str, names: Iterable[str], listed_by: str = "") -> UserError:
    """The error for a word that is not in `names`: it suggests the nearest ones and says how to list all.

    `listed_by` is the command that lists them, by default that for `LISTED`; without one, the error lists the names.
    For a word of an earlier version, it says what to use instead.
    """
    if instead := gone().get(word) or gone().get(f"--{what.lower()} {word}"):
        return UserError(instead)
    names = list(names)
    bare = {name.casefold().strip("-"): name for name in names}
    near = [bare[one] for one in get_close_matches(word.casefold().strip("-"), bare, cutoff=NEAR)]
    listed_by = listed_by or (f"scripts/matrix.sh --list {what.lower()}s" if what in LISTED else "")
    meant = f" did you mean {' or '.join(near)}?" if near else ""
    listed = f"{listed_by} lists all" if listed_by else f"there are: {', '.join(names) or 'none'}"
    return UserError(f"unknown {what} '{word}';{meant} {listed}")

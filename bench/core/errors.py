"""The one exception that ends a command with a line instead of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

MOST_NAMES = 30
"""Names that one line can still hold."""


class UserError(Exception):
    """A fault that the user can mend; its text is one line that says how. Exit status 2."""


def unknown(what: str, word: str, names: Sequence[str]) -> UserError:
    """One line for a word that is none of `names`: what there is, or of many the nearest."""
    near = names if len(names) <= MOST_NAMES else get_close_matches(word, names, n=5, cutoff=0.3)
    known = (
        f"there are: {', '.join(near)}" if near is names else f"of {len(names)}, the nearest: {', '.join(near) or '-'}"
    )
    return UserError(f"unknown {what} '{word}'; {known}")

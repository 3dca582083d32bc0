"""What all comments on pull requests are made of: their length, their words and the policies that fail them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from bench.core.errors import UserError
from bench.stats.table_verdicts import SLOWER

MOST_BYTES = 65_536
"""GitHub limits a comment to this many characters; there are never fewer bytes than characters."""
MOST_ROWS = (30, 10, 3, 0)
"""Rows of a table; the next value is tried if the comment is too long."""
MOST_WORD = 200
"""Most characters of one name or reason."""
POLICY = re.compile(r"(slower|invalid|not-enough-data|not-comparable)(?::(\d{1,3}(?:\.\d{1,3})?)%)?\Z", re.ASCII)
_ENDS = str.maketrans({"`": "'", "|": "\N{BROKEN BAR}"})
"""Characters that end a code span or a cell; a backslash does not escape both on GitHub."""
WHY_NO_VERDICT = "verdicts need base and head in one run (docs/ci.md)"


@dataclass(frozen=True, slots=True)
class Policy:
    """What gives exit status 1; `slower` if the head is slower by more than `percent`."""

    name: str
    percent: float = 0.0


@dataclass(frozen=True, slots=True)
class Comment:
    """Its Markdown, and the number of comparisons or cells that violate a policy."""

    text: str
    violations: int


def parse_policy(text: str) -> Policy:
    """Parse a policy; UserError if it is none."""
    found = POLICY.match(text)
    if not found or (found[2] and found[1] != SLOWER):
        raise UserError(f"policy '{text}' is none of: slower, slower:5%, invalid, not-enough-data, not-comparable")
    return Policy(found[1], float(found[2] or 0))


def text_of(lines: Sequence[str], foot: Sequence[str]) -> str:
    """The whole comment: `foot` is apart from what is above it."""
    return "\n".join([*lines, *(["", *foot] if foot else [])]) + "\n"


def more_words(rows: Sequence[object], most: int, where: str) -> list[str]:
    """What is said of the rows after the first `most`, and where they are; nothing where there are none."""
    return ["", f"{len(rows) - most} more {where}."] if rows[most:] else []


def code(text: str) -> str:
    """`text` as one short code span, in which GitHub sees no link, mention, issue number or HTML.

    Characters that are invisible or change the text direction are replaced by a visible one.
    """
    line = " ".join(text.split())
    shown = "".join("\ufffd" if unicodedata.category(mark)[0] == "C" else mark for mark in line)
    short = shown if len(shown) <= MOST_WORD else shown[: MOST_WORD - 1] + "…"
    return "`" + short.translate(_ENDS) + "`" if short else ""

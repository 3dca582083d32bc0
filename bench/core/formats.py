"""Numbers, percents and lists as text."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence

NOTHING = "–"
"""Printed where no figure was planned; for a planned figure that is missing, the cause is printed instead."""
MOST_NAMES = 6
"""The maximum number of names listed in a sentence."""


def number(value: float) -> str:
    """At least three significant digits, with a thousands separator: 7,140, 833, 32.9, 0.571."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def milliseconds(seconds: float | None) -> str:
    """Seconds as `51.8 ms`."""
    return NOTHING if seconds is None else f"{number(seconds * 1000)} ms"


def megabytes(size: float) -> str:
    """Bytes as `52.4 MB`."""
    return f"{number(size / 1e6)} MB"


def span(low: str, high: str) -> str:
    """`3 to 7`, or one of them if both read the same."""
    return low if low == high else f"{low} to {high}"


def percent(ratio: float, form: str = "+") -> str:
    """A ratio as a difference in percent: 1.2 is `+20.0 %`. `form` is the sign option of a format specification."""
    return f"{(ratio - 1) * 100:{form}.1f} %"


def share(part: float) -> str:
    """A share in percent, rounded down so that only 1 prints as 100 %: 0.9994 is `99.94 %`."""
    return f"{math.floor(part * 10000 + 1e-9) / 100:.2f} %"


def size(part: float) -> str:
    """A share as the size of a difference: `4.1 %`, without decimals from 10 % up."""
    return f"{size_number(part)} %"


def size_number(part: float) -> str:
    """`size` without the percent sign, for the lower end of a range."""
    return f"{100 * part:,.{1 if abs(part) < 0.0995 else 0}f}"


def times(ratio: float | None) -> str:
    """A ratio as a factor: `1.354`."""
    return NOTHING if ratio is None else f"{ratio:.3f}"


def plural(count: int, word: str, form: str = "") -> str:
    """A count with its noun: `1 round`, `8 rounds`. `form` is the count's format specification."""
    return f"{count:{form}} {word}{'' if count == 1 else 's'}"


def joined(names: Sequence[str]) -> str:
    """`a, b and c`; empty for none."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def listed(names: Sequence[str], most: int = MOST_NAMES, shown: int = MOST_NAMES - 2) -> str:
    """`a, b and c`; if there are more than `most`, the first `shown` names and the number of the others."""
    if len(names) > most:
        return f"{', '.join(names[:shown])} and {len(names) - shown} more"
    return joined(names)


def capital(words: str) -> str:
    """Capitalized to begin a sentence."""
    return words[:1].upper() + words[1:]


def first_of(names: Sequence[str], most: int) -> str:
    """`a, b, c`; if there are more than `most`, the first `most` names and the number of the others."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def printable(text: str, instead: str = " ") -> str:
    """Text on one line and safe for a terminal: `instead` of each unprintable character."""
    return "".join(mark if mark.isprintable() else instead for mark in text)


def escaped(text: str) -> str:
    """Text on one line and safe for a terminal and XML: unprintable characters as Python escapes them."""
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in text)


def markdown_table(names: Sequence[str], rows: Iterable[Iterable[str]], figures: Container[int] = ()) -> str:
    """Lines of a Markdown table, without the last newline; the columns at the places `figures` are aligned right."""
    marks = ["---:" if place in figures else "---" for place in range(len(names))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, marks, *rows))


def plain(value: str | float | None) -> str:
    """A value as a command-line argument: whole numbers without a fraction, None as ''."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)

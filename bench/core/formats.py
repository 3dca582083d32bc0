"""Number formats."""

from __future__ import annotations

import math

NOTHING = "–"
"""Printed where no figure was planned; a planned figure that is missing is replaced by its cause."""


def number(value: float) -> str:
    """At least three significant digits, with a thousands separator: 7,140, 833, 32.9, 0.571."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def milliseconds(seconds: float | None) -> str:
    """Seconds as `51.8 ms`."""
    return NOTHING if seconds is None else f"{number(seconds * 1000)} ms"


def percent(ratio: float) -> str:
    """A ratio as a difference in percent: 1.2 is `+20.0 %`."""
    return f"{(ratio - 1) * 100:+.1f} %"


def share(part: float) -> str:
    """A share in percent, rounded down so that only 1 prints as 100 %: 0.9994 is `99.94 %`."""
    return f"{math.floor(part * 10000 + 1e-9) / 100:.2f} %"


def rounds_words(n: int) -> str:
    """`1 round`, `8 rounds`."""
    return f"{n} round{'' if n == 1 else 's'}"


def times(ratio: float | None) -> str:
    """A ratio as a factor: `1.354`."""
    return NOTHING if ratio is None else f"{ratio:.3f}"


def plain(value: str | float | None) -> str:
    """A value as a command line takes it: whole numbers without a fraction, None as ''."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)

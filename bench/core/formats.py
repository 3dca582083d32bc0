"""How numbers are written."""

from __future__ import annotations

import math

NOTHING = "–"
"""Stands where no figure was planned; a figure that was planned and is missing has its cause instead."""


def number(value: float) -> str:
    """Three significant digits at least, thousands set apart: 7,140, 833, 32.9, 0.571."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def milliseconds(seconds: float | None) -> str:
    """Seconds as `51.8 ms`."""
    return NOTHING if seconds is None else f"{number(seconds * 1000)} ms"


def percent(ratio: float) -> str:
    """A ratio to something as a difference: 1.2 is `+20.0 %`."""
    return f"{(ratio - 1) * 100:+.1f} %"


def share(part: float) -> str:
    """A part of a whole: 0.9994 is `99.94 %`; what is not all is never written as all."""
    return f"{math.floor(part * 10000 + 1e-9) / 100:.2f} %"


def times(ratio: float | None) -> str:
    """A ratio as a factor: `1.354`."""
    return NOTHING if ratio is None else f"{ratio:.3f}"

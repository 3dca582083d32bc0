"""How the driver ends early, and what it tells people meanwhile: lines on standard error."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

USER, RUN = 2, 1
"""Exit statuses: what the user can fix, and the rest."""


@dataclass
class Failure(Exception):
    """One line that says what is wrong and how to fix it, and the exit status."""

    status: int
    words: str

    def __str__(self) -> str:
        return self.words


class Interrupted(BaseException):
    """A signal that ends the driver; no `except Exception` keeps it."""


def say(words: str) -> None:
    """What goes on; nothing where BENCH_QUIET is set."""
    if not os.environ.get("BENCH_QUIET"):
        warn(words)


def warn(words: str) -> None:
    """What has to be known in any case; it takes the place of a line that was drawn in place."""
    _write(("\r\033[K" if _Drawn.now else "") + words + "\n")
    _Drawn.now = False


def draw(line: str) -> None:
    """In the place of the last one that was drawn."""
    _write("\r\033[K" + line)
    _Drawn.now = True


def end_line() -> None:
    """What was drawn in place stays."""
    if _Drawn.now:
        _write("\n")
    _Drawn.now = False


class _Drawn:
    now = False


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()

"""How the driver ends early, and what it tells people meanwhile: lines on standard error."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass

USER, RUN = 2, 1
"""Exit statuses: what the user can fix, and the rest."""
INTERRUPTED = 130
SCRIPT, NOTE = "BENCH_SCRIPT", "BENCH_NOTE"
"""In the environment: the script that a user has called, and how to go on where something fails."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Those that end the driver."""


@dataclass
class Failure(Exception):
    """One line that says what is wrong and how to fix it, and the exit status."""

    status: int
    words: str

    def __str__(self) -> str:
        return self.words


class Interrupted(BaseException):
    """A signal that ends the driver; no `except Exception` keeps it."""


def heed_signals() -> None:
    """From here on they raise Interrupted, the first one alone; what was told to ignore one (nohup) goes on to."""
    mine = os.getpid()

    def raise_it(number: int, frame: object) -> None:
        ignore_signals()
        # What was forked ends with its own words unsaid.
        raise Interrupted if os.getpid() == mine else SystemExit(INTERRUPTED)

    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, raise_it)


def ignore_signals() -> None:
    """From here on none ends this process."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


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


def in_place() -> bool:
    """Whether a line can be drawn over on standard error."""
    on_terminal = sys.stderr.isatty() and (os.environ.get("TERM") or "dumb") != "dumb"
    return on_terminal and not os.environ.get("BENCH_QUIET")


def go_on_with_line() -> None:
    """What an earlier verb of the run has drawn in place is this one's now."""
    _Drawn.now = in_place()


def end_line() -> None:
    """What was drawn in place stays."""
    if _Drawn.now:
        _write("\n")
    _Drawn.now = False


class _Drawn:
    now = False


def _write(text: str) -> None:
    # Whoever read it may be gone.
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()

"""Failures, signals, and messages to the user on standard error."""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass

USER, RUN = 2, 1
"""Exit statuses: the user can fix it; anything else failed."""
EQUAL = 3
"""Exit status of a comparison whose two sides are the same."""
INTERRUPTED = 130
SCRIPT, NOTE = "BENCH_SCRIPT", "BENCH_NOTE"
"""Environment variables: the script that the user called, and how to resume after a failure."""
_OBEYED = re.compile(r"\x1b\[(?:31|0)m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and those that turn the direction of text; red, which progress uses."""
_COLOURS = ("\x1b[31m", "\x1b[0m")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end the driver."""


@dataclass
class Failure(Exception):
    """An exit status, and one line that says what is wrong and how to fix it."""

    status: int
    words: str

    def __str__(self) -> str:
        return self.words


class Interrupted(BaseException):
    """A signal that ends the driver; a BaseException, so that no `except Exception` catches it."""


def heed_signals() -> None:
    """The first signal raises Interrupted, later ones do nothing. Signals that are already ignored (nohup) stay so."""
    mine = os.getpid()

    def raise_it(number: int, frame: object) -> None:
        ignore_signals()
        # A forked child exits silently: its parent reports.
        raise Interrupted if os.getpid() == mine else SystemExit(INTERRUPTED)

    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, raise_it)


def ignore_signals() -> None:
    """From here on, signals do not end this process."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def say(words: str) -> None:
    """Prints progress, unless BENCH_QUIET is set."""
    if not os.environ.get("BENCH_QUIET"):
        warn(words)


def plain(words: str) -> str:
    """The words without what a terminal obeys: they may quote a build or a container."""
    return _OBEYED.sub(lambda found: found[0] if found[0] in _COLOURS else repr(found[0])[1:-1], words)


def warn(words: str) -> None:
    """Prints a line even if BENCH_QUIET is set; it replaces a progress line."""
    _write(("\r\033[K" if _Drawn.now else "") + plain(words) + "\n")
    _Drawn.now = False


def draw(line: str) -> None:
    """Draws a progress line in place of the previous one."""
    _write("\r\033[K" + plain(line))
    _Drawn.now = True


def in_place() -> bool:
    """Whether progress is one line that is redrawn: standard error is a capable terminal, and not quiet."""
    on_terminal = sys.stderr.isatty() and (os.environ.get("TERM") or "dumb") != "dumb"
    return on_terminal and not os.environ.get("BENCH_QUIET")


def go_on_with_line() -> None:
    """Lets this process overwrite the progress line that an earlier verb has left on the terminal."""
    _Drawn.now = in_place()


def end_line() -> None:
    """Leaves the progress line on the screen and starts a new one."""
    if _Drawn.now:
        _write("\n")
    _Drawn.now = False


class _Drawn:
    now = False


def _write(text: str) -> None:
    # The reader may be gone (a closed terminal or pipe).
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()

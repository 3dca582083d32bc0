"""Helpers for starting programs: deadlines, files in memory, exit statuses."""

from __future__ import annotations

import os

from bench.core.formats import plain

NOT_FOUND = 127
"""A shell's exit status for a program that is missing."""


def guarded(deadline_s: float, kill_after_s: float, *argv: str) -> list[str]:
    """The command under coreutils' `timeout`, which ends the program's whole process group after `deadline_s`.

    It then exits with 124, or with 137 if SIGKILL was needed, `kill_after_s` later.
    """
    return ["timeout", "--kill-after", plain(kill_after_s), plain(deadline_s), *argv]


def memory_file(data: bytes = b"") -> int:
    """A descriptor of an unnamed file with this content, which a program can inherit as /dev/fd/N."""
    handle = os.memfd_create("bench")
    os.write(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def shell_status(returncode: int) -> int:
    """A `returncode` as a shell reports it: 128 plus the signal's number if a signal ended the program."""
    return returncode if returncode >= 0 else 128 - returncode

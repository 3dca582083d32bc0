"""What programs are started with: a deadline, files that are in memory only; and how they ended."""

from __future__ import annotations

import os

from bench.core.formats import plain

NOT_FOUND = 127
"""The exit status of a program that is not there, as a shell has it."""


def guarded(deadline_s: float, kill_after_s: float, *argv: str) -> list[str]:
    """The command with coreutils' `timeout` before it, which ends what the program has started, too.

    It then exits with 124, or with 137 where the program had to be killed `kill_after_s` later.
    """
    return ["timeout", "--kill-after", plain(kill_after_s), plain(deadline_s), *argv]


def memory_file(data: bytes = b"") -> int:
    """The descriptor of a file without a name, for a program that inherits it as /dev/fd/N; at its beginning."""
    handle = os.memfd_create("bench")
    os.write(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def shell_status(returncode: int) -> int:
    """A status of `subprocess` as a shell has it: 128 and the signal's number where one ended the program."""
    return returncode if returncode >= 0 else 128 - returncode

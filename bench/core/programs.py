"""Helpers for starting programs: deadlines, in-memory files, exit statuses."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Sequence

from bench.core.files import MAX_BYTES
from bench.core.formats import plain

NOT_FOUND = 127
"""The exit status of a shell for a missing program."""
KILLED = (124, 137)
"""Exit statuses of a program that `guarded` ended at its deadline."""


def guarded(deadline_s: float, kill_after_s: float, *argv: str, most_bytes: int = MAX_BYTES) -> list[str]:
    """The command wrapped in coreutils' `timeout`, which ends the program's whole process group after `deadline_s`.

    The exit status is then 124, or 137 if SIGKILL was needed `kill_after_s` later. A file that the program writes gets
    no longer than `most_bytes`: SIGXFSZ ends the program.
    """
    guard = ["timeout", "--kill-after", plain(kill_after_s), plain(deadline_s)]
    return [*guard, "prlimit", f"--fsize={most_bytes}", *argv]


def run_joined(argv: Sequence[str], pass_fds: Collection[int] = ()) -> subprocess.CompletedProcess[bytes]:
    """Run a program without input; its stdout has what it prints on stderr, too. OSError if it cannot be started.

    It prints into a file, so that `guarded` limits how much.
    """
    with open(memory_file(), "w+b") as out:
        to, none = subprocess.STDOUT, subprocess.DEVNULL
        done = subprocess.run(argv, stdin=none, stdout=out, stderr=to, pass_fds=pass_fds, check=False)
        out.seek(0)
        done.stdout = out.read()
    return done


def memory_file(data: bytes = b"") -> int:
    """The descriptor of an unnamed file with this content; a child process can inherit it as /dev/fd/N."""
    handle = os.memfd_create("bench")
    os.write(handle, data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def shell_status(returncode: int) -> int:
    """A subprocess `returncode` as a shell reports it: 128 + signal number if a signal ended the program."""
    return returncode if returncode >= 0 else 128 - returncode

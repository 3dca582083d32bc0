"""Answers of the service outside the load. curl asks: its messages say what is wrong with a connection."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from bench.load.task import Task

SILENT = "000"
"""The status of no answer."""
_TOLD = re.compile(r"([0-9]{3}) ([0-9.]+)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, seconds ('' if unknown) and curl's error message ('' if none), as curl prints them."""

    status: str
    seconds: str
    error: str

    @property
    def good(self) -> bool:
        """Whether the status is 2xx."""
        return self.status.startswith("2")


def longest_s() -> str:
    """The longest time for one answer, in seconds."""
    return os.environ.get("ANSWER_TIMEOUT") or "15"


def ask(task: Task, body: int | None = None) -> Answer:
    """Send the load's request once; the answer's body goes to the descriptor."""
    load, text = task.load, task.entry.body
    words = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", longest_s(), "--max-filesize", "64M"]
    words += ["--output", "/dev/null" if body is None else f"/dev/fd/{body}"]
    words += ["--write-out", "%{stderr}\n%{http_code} %{time_total}"]
    words += ["--head"] if load.request.method == "HEAD" else ["--request", load.request.method]
    words += [word for line in load.request.headers for word in ("-H", line)]
    if load.request.method != "HEAD" and text:
        words += ["--data-raw", text]
    elif load.request.method != "HEAD" and load.request.body_file:
        words += ["--data-binary", f"@{load.request.body_file}"]
    try:
        done = subprocess.run(
            [*words, load.url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=() if body is None else (body,),
            check=False,
        )
    except OSError as error:
        return Answer(SILENT, "", f"curl: {error.strerror}")
    told = done.stdout.decode(errors="replace").rstrip("\n")
    said = _TOLD.match(told.rpartition("\n")[2])
    if not said:
        return Answer(SILENT, "", told)
    # A good status with half a body, or with one that does not end, is no answer.
    return Answer(SILENT if done.returncode else said[1], said[2], told.partition("\n")[0])

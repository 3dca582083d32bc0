"""Before the load: wait for the first good answer, then warm up."""

from __future__ import annotations

import math
import os
import re
import subprocess
import time
from dataclasses import replace

from bench.core.programs import guarded, memory_file
from bench.load.answers import SILENT, Answer, ask, longest_s
from bench.load.failed import NO_ANSWER, TOOL_FAILED, WRONG_ANSWER, Failed
from bench.load.task import Say, Task, command_of, pinned
from bench.load.words import shortened
from bench.tools import TOOLS
from bench.tools.tool import Load

WARM_UP = "hey"
"""Warms up for every tool, unless there are several targets: hey cannot mix them, wrk can."""
WARM_UP_CONNECTIONS = 8
TRIES = 5
_ANSWERED = re.compile(r"\[2[0-9][0-9]\]\s+([0-9]+) responses|([1-9][0-9]*) requests in")
_OTHER_STATUS = re.compile(r"\[[0-9]{3}\]\s+[0-9]+ responses")
_ERRORS = re.compile(r"(?:Error distribution|Socket errors):\s*([^\n]+)")


def ready_timeout_s() -> str:
    """The longest time to the first good answer, in seconds."""
    return os.environ.get("READY_TIMEOUT") or "30"


def wait_until_ready(task: Task, say: Say, timeout_s: str | None = None) -> None:
    """Poll until the first good answer; print `ready NS` and `answer SECONDS`.

    A wrong answer fails at once, except 5xx, which a service may give while it starts.
    """
    timeout_s = timeout_s or ready_timeout_s()
    answer, body = _first_answer(task, float(timeout_s))
    if answer.good:
        say(f"ready {time.time_ns()}")
        say(f"answer {answer.seconds}")
    elif answer.status == SILENT:
        raise Failed(NO_ANSWER, f"{task.load.url} gave no answer in {timeout_s} s: {answer.error}")
    else:
        words = f"expected status 200, got {answer.status}: {shortened(body)}"
        raise Failed(WRONG_ANSWER, f"{task.load.url}: {words}")


def _first_answer(task: Task, timeout_s: float) -> tuple[Answer, str]:
    """The first answer that is neither missing nor 5xx, else the last one in time; and its body."""
    give_up = time.monotonic() + timeout_s
    handle = memory_file()
    try:
        while True:
            answer = ask(task, handle)
            decides = answer.status != SILENT and not answer.status.startswith("5")
            if decides or time.monotonic() >= give_up:
                body = os.pread(handle, 1 << 16, 0).replace(b"\0", b"").rstrip(b"\n")
                return answer, body.decode(errors="surrogateescape")
            time.sleep(0.05)
    finally:
        os.close(handle)


def warm_up(task: Task, say: Say) -> None:
    """At most 8 connections at full speed, for every cell alike; print `warmed RESPONSES` and `warm NS`.

    A warm-up without any answer is repeated for 1, 2, 4 and 8 s: the machine was busy, or answers take longer.
    """
    handle = memory_file(task.entry.body.encode()) if task.entry.body else None
    try:
        _warm_up(task, say, handle)
    finally:
        if handle is not None:
            os.close(handle)


def _warm_up(task: Task, say: Say, body: int | None) -> None:
    load, seconds = _warm_up_load(task, body), task.entry.warmup_s
    for tries in range(TRIES):
        output = _warmed(task, load, seconds, body)
        if answered := _ANSWERED.search(output):
            say(f"warmed {answered[1] or answered[2]}")
            say(f"warm {time.time_ns()}")
            return
        if other := _OTHER_STATUS.search(output):
            words = f"no answer with a status of success from {load.url}: {other[0]}"
            raise Failed(WRONG_ANSWER, f"warm-up: {words}")
        if error := _ERRORS.search(output):
            raise Failed(NO_ANSWER, f"warm-up: no answer from {load.url} after its first one: {error[1]}")
        if tries < TRIES - 1:
            seconds = 1 << tries
    raise Failed(NO_ANSWER, f"warm-up: no answer from {load.url} in {seconds:g} s after its first one")


def _warm_up_load(task: Task, body: int | None) -> Load:
    request = task.load.request
    return pinned(
        Load(
            url=task.load.url,
            request=request if body is None else replace(request, body_file=f"/dev/fd/{body}"),
            connections=min(WARM_UP_CONNECTIONS, task.load.connections or WARM_UP_CONNECTIONS),
            timeout_s=float(longest_s()),
            keepalive=task.load.keepalive,
        )
    )


def _warmed(task: Task, load: Load, seconds: float, body: int | None) -> str:
    """The tool's output of one warm-up."""
    mixed = load.request.targets > 1
    # wrk takes whole seconds only.
    timed = replace(load, duration_s=math.ceil(seconds) if mixed else seconds)
    command = command_of(TOOLS["wrk" if mixed else WARM_UP], timed)
    done = subprocess.run(
        guarded(task.deadline_s, 5, *command.argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=() if body is None else (body,),
        check=False,
    )
    output = done.stdout.decode(errors="replace").rstrip("\n")
    if done.returncode:
        words = output.rpartition("\n")[2]
        raise Failed(TOOL_FAILED, f"warm-up: status {done.returncode}: {words}")
    return output

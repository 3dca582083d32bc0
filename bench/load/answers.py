"""Requests to a service outside its load: readiness polling, warm-up, and the duration of a single response.

Polling uses curl, because its messages say what is wrong with a connection.
"""

from __future__ import annotations

import math
import os
import re
import time
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, NamedTuple

from bench.core.programs import guarded, memory_file, run_joined
from bench.load.failures import NO_ANSWER, TOOL_FAILED, WRONG_ANSWER, Failed, shortened
from bench.load.task import LONGEST_S, Say, Task, command_of, pinned
from bench.tools import TOOLS
from bench.tools.tool import Load

if TYPE_CHECKING:
    from bench.plan.measurement import Measurement

SILENT = "000"
"""The status if there is no response."""
_TOLD = re.compile(r"([0-9]{3}) ([0-9.]+)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, seconds ('' if unknown) and error message ('' if none), as printed by curl."""

    status: str
    seconds: str
    error: str

    def is_good(self, planned: Measurement) -> bool:
        """Whether the status is that of a right response."""
        return planned.is_good(int(self.status))


def longest_s() -> str:
    """The timeout of a single request, in seconds."""
    return os.environ.get("ANSWER_TIMEOUT") or "15"


def ask(task: Task, body: int | None = None) -> Answer:
    """Send the load's request once; the response's body goes to the file descriptor `body`."""
    load, text = task.load, task.planned.body
    words = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", longest_s(), "--max-filesize", "64M"]
    # The path as it is: no patterns in brackets, no `..`. Like the load tools: HTTP/1.1, no certificate is verified.
    words += ["--globoff", "--path-as-is", "--http1.1", "--insecure"]
    words += ["--output", "/dev/null" if body is None else f"/dev/fd/{body}"]
    words += ["--write-out", "%{stderr}\n%{http_code} %{time_total}"]
    words += ["--head"] if load.method == "HEAD" else ["--request", load.method]
    words += [word for line in load.headers for word in ("-H", line)]
    if load.method != "HEAD" and text:
        words += ["--data-raw", text]
    elif load.method != "HEAD" and load.body_file:
        words += ["--data-binary", f"@{load.body_file}"]
    try:
        done = run_joined([*words, load.url], () if body is None else (body,))
    except OSError as error:
        return Answer(SILENT, "", f"curl: {error.strerror}")
    output = done.stdout.decode(errors="replace").rstrip("\n")
    said = _TOLD.match(output.rpartition("\n")[2])
    if not said:
        return Answer(SILENT, "", output)
    # A good status with an incomplete or endless body does not count as a response.
    return Answer(SILENT if done.returncode else said[1], said[2], output.partition("\n")[0])


WARM_UP = "hey"
"""The warm-up tool for all load tools, unless there are several targets: hey cannot mix them, wrk can."""
WARM_UP_CONNECTIONS = 8
TRIES = 5
_MIXED = re.compile(r"([1-9][0-9]*) requests in")
_STATUS = re.compile(r"\[([0-9]{3})\]\s+([0-9]+) responses")
_ERRORS = re.compile(r"(?:Error distribution|Socket errors):\s*([^\n]+)")


def ready_timeout_s() -> str:
    """The timeout for the first good response, in seconds."""
    return os.environ.get("READY_TIMEOUT") or "30"


def wait_until_ready(task: Task, say: Say, timeout_s: str | None = None) -> None:
    """Poll until the first good response; print `ready NS` and `answer SECONDS`.

    A wrong response fails at once, except 5xx, which a service may send while it starts.
    """
    timeout_s = timeout_s or ready_timeout_s()
    answer, body = _first_answer(task, float(timeout_s))
    if answer.is_good(task.planned):
        say(f"ready {time.time_ns()}")
        say(f"answer {answer.seconds}")
    elif answer.status == SILENT:
        raise Failed(NO_ANSWER, f"{task.load.url} gave no answer in {timeout_s} s: {answer.error}")
    else:
        words = f"expected status 200, got {answer.status}: {shortened(body)}"
        raise Failed(WRONG_ANSWER, f"{task.load.url}: {words}")


def _first_answer(task: Task, timeout_s: float) -> tuple[Answer, str]:
    """The first response that is not 5xx, else the last one before the timeout; and its body."""
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


def warm_up(task: Task, say: Say) -> float:
    """Warm up at full speed on at most 8 connections, the same for all cells; print `warmed RESPONSES` and `warm NS`.

    Returns the responses per second.

    A warm-up without any response is repeated for 1, 2, 4 and 8 s: the machine may be busy, or responses slow.
    """
    handle = memory_file(task.planned.body.encode()) if task.planned.body else None
    try:
        return _warm_up(task, say, handle)
    finally:
        if handle is not None:
            os.close(handle)


def _warm_up(task: Task, say: Say, body: int | None) -> float:
    load, seconds = _warm_up_load(task, body), task.planned.warmup_s
    for tries in range(TRIES):
        output = _warmed(task, load, seconds, body)
        good = [int(count) for status, count in _STATUS.findall(output) if task.planned.is_good(int(status))]
        if answered := sum(good) or sum(map(int, _MIXED.findall(output)[:1])):
            say(f"warmed {answered}")
            say(f"warm {time.time_ns()}")
            return answered / seconds
        if other := _STATUS.search(output):
            words = f"no answer with a status of success from {load.url}: {other[0]}"
            raise Failed(WRONG_ANSWER, f"warm-up: {words}")
        if error := _ERRORS.search(output):
            raise Failed(NO_ANSWER, f"warm-up: no answer from {load.url} after its first one: {error[1]}")
        if tries < TRIES - 1:
            seconds = 1 << tries
    raise Failed(NO_ANSWER, f"warm-up: no answer from {load.url} in {seconds:g} s after its first one")


def _warm_up_load(task: Task, body: int | None) -> Load:
    load, connections = pinned(task.load), min(WARM_UP_CONNECTIONS, task.load.connections or WARM_UP_CONNECTIONS)
    load = replace(load, connections=connections, count=None, rate=None, threads=1, timeout_s=float(longest_s()))
    return load if body is None else replace(load, body_file=f"/dev/fd/{body}")


def _warmed(task: Task, load: Load, seconds: float, body: int | None) -> str:
    """Run one warm-up and return the tool's output."""
    mixed = load.targets > 1
    # wrk only takes whole seconds.
    timed = replace(load, duration_s=math.ceil(seconds) if mixed else seconds)
    command = command_of(TOOLS["wrk" if mixed else WARM_UP], timed)
    done = run_joined(guarded(task.deadline_s, 5, *command.argv), () if body is None else (body,))
    output = done.stdout.decode(errors="replace").rstrip("\n")
    if done.returncode:
        words = output.rpartition("\n")[2][:300]
        raise Failed(TOOL_FAILED, f"warm-up: status {done.returncode}: {words}")
    return output


LEAST_QUIET_S, MOST_QUIET_S = 0.02, 0.5
"""Bounds of the time after which a service that has neither worked nor responded is considered idle."""
SLOW_BODY_S = 0.005
"""If the body ends this long after the headers, it was sent separately."""
LONGEST_BODY = 64 << 20
"""The maximum number of bytes read from a body, over a hundred times that of any route of the contract."""


class OneAnswer(NamedTuple):
    """Seconds until a response is complete, and those of them after its headers."""

    all_s: float
    body_s: float


def one_answer(measurement: Measurement, peer: tuple[str, int]) -> OneAnswer | None:
    """Time one response while no other service is loaded; None if there is no good and complete one within the tools'
    timeout.
    """
    from bench.contract.client import Clock, Deadline  # other verbs do without it, and start faster

    headers = {} if measurement.body is None else {"Content-Type": "application/json"}
    timeout_s = measurement.timeout_s or LONGEST_S
    began = time.monotonic()
    connection = HTTPConnection(*peer, timeout=timeout_s)
    deadline = None
    try:
        connection.connect()
        # A socket's own timeout restarts with each byte, and http.client forgets the socket of a response that has no
        # length, hence the timer.
        deadline = Deadline(connection.sock, timeout_s, Clock())
        connection.request(measurement.method, measurement.path, measurement.body, headers)
        response = connection.getresponse()
        headed = time.monotonic()
        left = LONGEST_BODY
        while part := response.read(min(left, 1 << 16)):
            left -= len(part)
            if not left:
                return None
        # An error may come at once where a good response takes its time; `length` is what is missing of the body.
        if response.length or not measurement.is_good(response.status):
            return None
    except (OSError, HTTPException, ValueError):
        return None
    finally:
        if deadline:
            deadline.cancel()
        connection.close()
    ended = time.monotonic()
    return OneAnswer(ended - began, ended - headed) if ended - began < timeout_s else None


def quiet_s(answer_s: float | None, connections: int) -> float:
    """How long to wait without any response until a service counts as idle.

    A service may process the requests of all connections before it sends the first response, so it is 1.5 times the
    duration of a single response for each connection.
    """
    return min(MOST_QUIET_S, max(LEAST_QUIET_S, 1.5 * (answer_s or 0.0) * connections))


def rest_s(answer: OneAnswer | None) -> float:
    """How long to wait for the rest of a response that is sent in parts; 0 if the service sends it as a whole."""
    body_s = answer.body_s if answer else 0.0
    return min(MOST_QUIET_S, 1.5 * body_s) if body_s > SLOW_BODY_S else 0.0

"""Exchanges with a service outside its load: readiness polling, warm-up, and a single response of an idle service."""

from __future__ import annotations

import os
import time
from dataclasses import replace

from bench.core.programs import guarded, memory_file, run_joined
from bench.exchange import kind_of
from bench.exchange.kind import SILENT, Response
from bench.load.failures import NO_ANSWER, TOOL_FAILED, WRONG_ANSWER, Failed
from bench.load.task import Say, Task, command_of, pinned
from bench.plan.measurement import shortened
from bench.tools.tool import Load, Tool

TRIES = 5


def longest_s() -> float:
    """The timeout of a single request, in seconds."""
    return float(os.environ.get("ANSWER_TIMEOUT") or "15")


def ask(task: Task) -> Response:
    """Make the load's exchange once."""
    return kind_of(task.load.exchange).ask(task.load, longest_s())


def is_good(load: Load, response: Response) -> bool:
    """Whether the status is that of a right response."""
    return load.exchange.is_good(int(response.status))


def idle_response(load: Load) -> Response | None:
    """A response while no other service is loaded; None if there is no good and complete one within the tools'
    timeout.
    """
    response = kind_of(load.exchange).ask(load, load.timeout_s)
    return response if is_good(load, response) else None


def ready_timeout_s() -> str:
    """The timeout for the first good response, in seconds."""
    return os.environ.get("READY_TIMEOUT") or "30"


def wait_until_ready(task: Task, say: Say, timeout_s: str | None = None) -> None:
    """Poll until the first good response; print `ready NS` and `answer SECONDS`.

    A wrong response fails at once, except 5xx, which a service may send while it starts.
    """
    timeout_s = timeout_s or ready_timeout_s()
    give_up = time.monotonic() + float(timeout_s)
    while (response := ask(task)).status == SILENT or response.status.startswith("5"):
        if time.monotonic() >= give_up:
            break
        time.sleep(0.05)
    if is_good(task.load, response):
        say(f"ready {time.time_ns()}")
        say(f"answer {response.seconds}")
    elif response.status == SILENT:
        raise Failed(NO_ANSWER, f"{task.load.url} gave no answer in {timeout_s} s: {response.error}")
    else:
        words = f"expected status 200, got {response.status}: {shortened(response.body)}"
        raise Failed(WRONG_ANSWER, f"{task.load.url}: {words}")


def warm_up(task: Task, say: Say) -> float:
    """Warm up; print `warmed RESPONSES` and `warm NS`, and return the responses per second.

    A warm-up without any response is repeated for 1, 2, 4 and 8 s: the machine may be busy, or responses slow.
    """
    load = replace(pinned(task.load), timeout_s=longest_s())
    handle = memory_file((load.exchange.body or "").encode())
    try:
        return _warm_up(task, replace(load, body_file=f"/dev/fd/{handle}") if load.exchange.body else load, say, handle)
    finally:
        os.close(handle)


def _warm_up(task: Task, load: Load, say: Say, body: int) -> float:
    kind, seconds = kind_of(load.exchange), task.planned.warmup_s
    for tries in range(TRIES):
        warmed = kind.warmed(_output(task, *kind.warm_up(load, seconds), body), load.exchange)
        if warmed.good:
            say(f"warmed {warmed.good}")
            say(f"warm {time.time_ns()}")
            return warmed.good / seconds
        if warmed.wrong:
            words = f"no answer with a status of success from {load.url}: {warmed.wrong}"
            raise Failed(WRONG_ANSWER, f"warm-up: {words}")
        if warmed.error:
            raise Failed(NO_ANSWER, f"warm-up: no answer from {load.url} after its first one: {warmed.error}")
        if tries < TRIES - 1:
            seconds = 1 << tries
    raise Failed(NO_ANSWER, f"warm-up: no answer from {load.url} in {seconds:g} s after its first one")


def _output(task: Task, tool: Tool, load: Load, body: int) -> str:
    """Run a warm-up and return the tool's output."""
    done = run_joined(guarded(task.deadline_s, 5, *command_of(tool, load).argv), (body,))
    output = done.stdout.decode(errors="replace").rstrip("\n")
    if done.returncode:
        words = output.rpartition("\n")[2][:300]
        raise Failed(TOOL_FAILED, f"warm-up: status {done.returncode}: {words}")
    return output

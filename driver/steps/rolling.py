"""Rolling restart: replaces a service's containers one after the other, behind a proxy in the load generator."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driver.docker import DockerError, in_time
from driver.engines.local import LocalDocker
from driver.files import save, text_of
from driver.messages import PROXY_ASKED, PROXY_TOLD, Action

ANSWERS_S, OBEYS_S, POLL_S = 30.0, 5.0, 0.02


def swap(engine: LocalDocker, service: str, action: Action, folder: Path, now: Callable[[], int]) -> dict[str, Any]:
    """Stops one container of the service and starts it again; returns an action of events.json once it answers.

    `pid`, `pid_after`: pids of its first process on this machine. `exit_ns`: from the signal to its end; `exit_code`:
    137 if it had to be killed.
    """
    number, ended, after, error = int(action.to), None, 0, ""
    before = engine.container_facts(service, number)
    begun, wall = now(), time.time_ns()
    try:
        if action.wait_s:
            _ask(folder, "out", before.address, OBEYS_S)
            time.sleep(action.wait_s)
        begun, wall = now(), time.time_ns()
        ended = engine.stop_container(service, number, action.grace_s, action.every_process)
        engine.start_container(service, number)
        after = engine.container_facts(service, number).pid
        _ask(folder, "answers", before.address, ANSWERS_S)
        took = now() - begun
        if action.wait_s:
            _ask(folder, "back", before.address, OBEYS_S)
    except DockerError as failed:
        error, took = str(failed), now() - begun
    return {
        "what": f"SIG{action.signal} to {'every process of ' if action.every_process else ''}container {number}",
        "pid": before.pid,
        "at_ns": begun,
        "took_ns": took,
        "wall_ns": wall,
        "error": error,
        "pid_after": after,
        "exit_ns": ended.at_ns - (ended.told_ns or wall) if ended and ended.at_ns else None,
        "exit_code": ended.code if ended else None,
    }


def _ask(folder: Path, verb: str, address: str, patience_s: float) -> None:
    """Asks the load generator to do it; DockerError if that takes longer than `patience_s`."""
    asked = f"{time.monotonic_ns()} {verb} {address}"
    save(folder / PROXY_ASKED, asked)
    if not in_time(lambda: text_of(folder / PROXY_TOLD) == asked, int(patience_s / POLL_S), POLL_S):
        words = "the container gave no answer" if verb == "answers" else "the load generator did not tell the proxy"
        raise DockerError(f"{words} within {patience_s:g} s")

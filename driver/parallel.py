"""Parallel work in forked processes: if one is killed, the others go on."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Callable, TypeVar

from driver.failure import RUN, Failure, warn

Item = TypeVar("Item")
Result = TypeVar("Result")
KILLED: tuple[Any, Exception | None] = None, Failure(RUN, "a worker process was killed")
"""The outcome of a process that has sent none: a result, or else a failure."""


def together(work: Callable[[Item], Result], items: Sequence[Item], at_a_time: int = 8) -> list[Result]:
    """Results in the order of the items. A failure is raised only after all have ended."""
    forked = multiprocessing.get_context("fork")
    waiting = list(enumerate(items))
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    outcomes: list[tuple[Any, Exception | None]] = [KILLED] * len(items)
    try:
        while waiting or running:
            while waiting and len(running) < at_a_time:
                place, item = waiting.pop(0)
                ours, theirs = forked.Pipe(duplex=False)
                process: BaseProcess = forked.Process(target=_child, args=(work, item, theirs))
                process.start()
                theirs.close()
                running[ours] = place, process
            for ended in wait(list(running)):
                assert isinstance(ended, Connection)
                place, process = running.pop(ended)
                with ended, suppress(EOFError):
                    outcomes[place] = ended.recv()
                process.join()
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()
    if failures := [failure for _, failure in outcomes if failure]:
        for failure in failures[1:]:
            warn(str(failure))
        raise failures[0]
    return [result for result, _ in outcomes]


def _child(work: Callable[[Any], Any], item: Any, to: Connection) -> None:
    try:
        outcome: tuple[Any, Exception | None] = work(item), None
    except Exception as error:
        if os.environ.get("BENCH_DEBUG"):
            traceback.print_exc()
        outcome = None, error
    to.send(outcome)

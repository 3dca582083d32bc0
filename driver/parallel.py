"""Parallel work in forked processes: if one is killed, the others go on."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Callable, TypeVar

from driver.failure import RUN, Failure, warn

Item = TypeVar("Item")
Result = TypeVar("Result")


def together(work: Callable[[Item], Result], items: Sequence[Item], at_a_time: int = 8) -> list[Result]:
    """Results in the order of the items. A failure is raised only after all have ended."""
    forked = multiprocessing.get_context("fork")
    waiting = list(enumerate(items))
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    results: dict[int, Result] = {}
    failures: list[Exception] = []
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
                result, failure = _told(ended)
                process.join()
                if failure:
                    failures.append(failure)
                else:
                    results[place] = result
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()
    for failure in failures[1:]:
        warn(str(failure))
    if failures:
        raise failures[0]
    return [results[place] for place in range(len(items))]


def _child(work: Callable[[Any], Any], item: Any, to: Connection) -> None:
    try:
        outcome: tuple[Any, Exception | None] = work(item), None
    except Exception as error:
        if os.environ.get("BENCH_DEBUG"):
            traceback.print_exc()
        outcome = None, error
    to.send(outcome)


def _told(connection: Connection) -> tuple[Any, Exception | None]:
    """The result of a child, or its failure; a killed child has sent nothing."""
    try:
        outcome: tuple[Any, Exception | None] = connection.recv()
    except EOFError:
        outcome = None, Failure(RUN, "a worker process was killed")
    connection.close()
    return outcome

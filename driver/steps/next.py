"""Asks the planner for the next step, and shows progress: on a terminal one redrawn line, otherwise a line per step.

The planner takes longer to start than to decide. So it is started while the containers of a step are removed, and waits
for the message that the step has ended.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress

from driver.counters import PROC
from driver.docker import Done
from driver.engines.engine import Engine
from driver.engines.of_run import engine_of
from driver.failure import RUN, Failure, draw, end_line, go_on_with_line, in_place, warn
from driver.files import save_json, text_of
from driver.nodes.node import read_lanes
from driver.run import Run, open_run

STEP, FINISHED, TIME_IS_UP = 0, 3, 4
"""Exit statuses of this verb and of `bench next`."""
WAIT = "-"
"""Instead of the seconds: the planner reads them from standard input."""
KILLED = 3
"""How often, in one call of the script, the planner may fail because the load generator was killed."""
CALL = "loop-call.json"
"""A file of the run: when the current call of the script began, and how often the load generator was killed since."""


def main(argv: list[str]) -> int:
    """`next RUN [--max-time SECONDS]`: the time limit counts from the start of the script."""
    run, max_time_s = run_and_limit("next", argv)
    return next_step(engine_of(run), max_time_s)


def run_and_limit(verb: str, argv: list[str]) -> tuple[Run, str]:
    """The run, and the time limit; empty if there is none."""
    parser = ArgumentParser(prog=verb)
    parser.add_argument("run")
    parser.add_argument("--max-time", default="")
    options = parser.parse_args(argv)
    return open_run(options.run), options.max_time


def start_planner(engine: Engine) -> Callable[[str], Done]:
    """Starts the planner; call the result when the step has ended, with the seconds since the script began."""
    return engine.start_bench("next", engine.run.name, "--elapsed", WAIT, *_screen())


def next_step(engine: Engine, max_time_s: str = "", planner: Callable[[str], Done] | None = None) -> int:
    """The exit status: STEP, FINISHED or TIME_IS_UP. `planner`: what `start_planner` has started."""
    run = engine.run
    first = ["--begin", *(["--max-time", max_time_s] if max_time_s else [])]
    if lanes := len(read_lanes(run)):
        first += ["--lanes", str(lanes)]
    begin, killed = first, 0
    began, known = json.loads(text_of(run.folder / CALL) or "[null, 0]")
    if began == _began():
        # This call of the script has measured a step already.
        begin, killed = [], known
        go_on_with_line()
    while True:
        if planner and not begin:
            done = planner(f"{elapsed_s()}\n")
        else:
            done = engine.bench("next", run.name, "--elapsed", str(elapsed_s()), *begin, *_screen())
        if done.status in (STEP, FINISHED, TIME_IS_UP):
            break
        killed += 1
        if killed > KILLED or engine.is_running("loadgen"):
            raise Failure(RUN, f"the next step cannot be decided: {done.last_line}")
        # With --begin, the planner also records what it finds in the raw files.
        begin = first
    if done.status == STEP:
        save_json(run.folder / CALL, [_began(), killed])
        _show(words_of(done))
        return STEP
    with suppress(FileNotFoundError):
        (run.folder / CALL).unlink()
    _show_end(done)
    return done.status


def elapsed_s() -> int:
    """Seconds since the script began, by a monotonic clock."""
    up = (text_of(PROC / "uptime") or "").split()[0].replace(".", "")
    return (int(up) - int(_began())) // 100


def words_of(done: Done) -> str:
    """The output of a command."""
    return (done.out + done.err).rstrip("\n")


def _began() -> str:
    """The machine's uptime at the script's start, in hundredths of a second."""
    began = os.environ.get("BENCH_BEGAN", "")
    if not began.isdecimal():
        raise Failure(RUN, "BENCH_BEGAN does not say when the script was started: scripts/matrix.sh calls this")
    return began


def _screen() -> list[str]:
    """Options of the planner for progress: the terminal's width and colours."""
    if os.environ.get("BENCH_QUIET"):
        return ["--quiet"]
    if not in_place():
        return []
    columns = 0
    with suppress(OSError):
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    return ["--columns", str(columns or 80), *([] if os.environ.get("NO_COLOR") else ["--colour"])]


def _show(words: str) -> None:
    """Shows the planner's progress, if there is any."""
    if words and in_place():
        draw(words)
    elif words:
        warn(words)


def _show_end(done: Done) -> None:
    """Shows the last progress; if the time is up, its last line says how to resume."""
    words = words_of(done)
    if done.status == FINISHED:
        _show(words)
        end_line()
        return
    shown, _, last = words.rpartition("\n")
    _show(shown)
    warn(last)

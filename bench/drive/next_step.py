"""`next RUN`: one call for each step of the measuring loop (scripts/lib/measure.sh).

It records the step that has just ended, prints how far the run is, decides the next step and writes it to RUN/step.sh.
Time comes from the caller, in seconds since its script began.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.cli import Parser, find_run
from bench.drive import journal, run_state
from bench.drive.live_status import NOT_LOADED, LiveStatus, live_status
from bench.drive.progress import Screen
from bench.drive.run_state import RunState
from bench.drive.step_file import write_step
from bench.errors import UserError
from bench.rundir import read_run

STEP, FINISHED, STOPPED = 0, 3, 4
"""Exit statuses: RUN/step.sh has the next step; nothing is left to measure; the time is up."""


def run(argv: Sequence[str]) -> int:
    """`next RUN --elapsed SECONDS`: see --help; of a stop, the last line printed says how to go on."""
    options = _parse(argv)
    folder = find_run(options.run)
    screen = Screen(options.quiet, options.columns, options.colour)
    try:
        status, lines = next_step(folder, options.elapsed, screen, begin=options.begin, max_time_s=options.max_time)
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}") from error
    print(*lines, sep="\n", end="\n" if lines else "")
    return status


@dataclass(slots=True)
class Shown:
    """What this call shows, as of `now`: seconds since the caller's script began."""

    now: float
    screen: Screen
    lines: list[str] = field(default_factory=list)


def next_step(
    folder: Path, now: float, screen: Screen, *, begin: bool = False, max_time_s: float | None = None
) -> tuple[int, list[str]]:
    """The exit status, and what is shown."""
    shown = Shown(now, screen)
    state = run_state.begin(folder, now, max_time_s) if begin else _after_load(folder, shown)
    status, state = _choose(folder, state, shown)
    if status == STEP:
        state = replace(state, under_load=True)
        write_step(folder, state.queue[0].lines, os.environ)
        run_state.save(folder, state)
    else:
        run_state.remove(folder)
    lines = shown.lines
    if screen.columns and not screen.quiet:
        lines = [state.progress.drawing(now, state.queue[0].label if status == STEP else "", screen)]
    if status == STOPPED:
        lines.append(f"the time is up (--max-time): the report says what is open; --resume {folder.name} goes on")
    return status, lines


def _after_load(folder: Path, shown: Shown) -> RunState:
    """With the step that was under load behind."""
    state = run_state.load(folder)
    if not state.under_load:
        raise UserError(f"{folder.name}: no step was begun")
    step = state.queue[0]
    run_state.record_finished(folder, step)
    source = read_run(str(folder))
    nulls = [r for r in journal.records(journal.read(source.path), ("null",)) if r.id not in step.ids]
    mine = journal.append(source, step)
    return _behind(state, live_status(journal.reviewed(source, [*mine, *nulls])[: len(mine)]), shown)


def _choose(folder: Path, state: RunState, shown: Shown) -> tuple[int, RunState]:
    """Status and state; where the status is STEP, the next step is the first one of the queue."""
    while True:
        if not state.queue:
            state = run_state.next_round(read_run(str(folder)), state)
            if not state.queue:
                return FINISHED, state
        if state.max_time_s and shown.now >= state.max_time_s:
            return STOPPED, state
        step = state.queue[0]
        if not run_state.unverified(folder, step.services):
            return STEP, state
        journal.append(read_run(str(folder)), step)
        state = _behind(state, NOT_LOADED, shown)


def _behind(state: RunState, status: LiveStatus, shown: Shown) -> RunState:
    """With the first step of the queue behind."""
    step, progress = state.queue[0], state.progress.after(state.queue[0], status)
    if not (shown.screen.quiet or shown.screen.columns):
        shown.lines.append(progress.log_line(step, status, shown.now))
    return replace(state, progress=progress, queue=state.queue[1:], under_load=False)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = Parser(prog="next", allow_abbrev=False, add_help=False)
    parser.add_argument("run")
    parser.add_argument("--elapsed", type=float, required=True)
    parser.add_argument("--begin", action="store_true")
    parser.add_argument("--max-time", type=float)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--columns", type=int, default=0)
    parser.add_argument("--colour", action="store_true")
    return parser.parse_args(argv)

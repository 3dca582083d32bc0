"""The call of the measuring loop (driver/steps/next.py) between two steps.

It records the step that has just ended, reports progress, decides the next step and writes it to RUN/step.json. Time
comes from the caller, in seconds since its script started.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.load.task import FILE as STEP_FILE
from bench.run import retries
from bench.run.folder import lane_folder, lane_folders
from bench.run.reader import CHANGED_PARTS, Run, read_run
from bench.schedule import journal, run_state
from bench.schedule.common_rate import knee_ceiling
from bench.schedule.progress import NOT_LOADED, LiveStatus, Screen, event_status, live_status
from bench.schedule.run_state import RunState
from bench.schedule.step_file import write_step
from bench.schedule.steps import next_wave
from driver.messages import UNFINISHED

STEP, FINISHED, STOPPED = 0, 3, 4
"""Exit statuses: RUN/step.json has the next step; nothing is left to measure; the time is up."""


@dataclass(slots=True)
class Shown:
    """What this call prints, at the time `now`, in seconds since the caller's script started."""

    now: float
    screen: Screen
    lines: list[str] = field(default_factory=list)


def next_step(
    folder: Path, shown: Shown, *, begin: bool = False, max_time_s: float | None = None, lanes: int = 1
) -> int:
    """Record the last step and prepare the next one; returns STEP, FINISHED or STOPPED."""
    if begin:
        (folder / UNFINISHED).unlink(missing_ok=True)
    state = run_state.begin(folder, shown.now, max_time_s, lanes) if begin else _after_load(folder, shown)
    status, state = _choose(folder, state, shown)
    if status == STEP:
        state = replace(state, wave=_wave(folder, state))
        _write_wave(folder, state)
        run_state.save(folder, state)
    else:
        run_state.remove(folder)
        _note_changes(folder)
        if status == STOPPED:
            write_file(folder / UNFINISHED, "")
    if shown.screen.columns and not shown.screen.quiet:
        under_load = "; ".join(state.step(id_).label for id_ in state.wave.values())
        shown.lines = [state.progress.drawing(shown.now, under_load, shown.screen)]
    if status == STOPPED:
        resumed = "" if os.environ.get("BENCH_ENGINE") == "composed" else f"; resume with --resume {folder.name}"
        shown.lines.append(f"the time is up (--max-time): the report says what is missing{resumed}")
    return status


def _note_changes(folder: Path) -> None:
    """Write which parts of the project have changed during the run: its figures may be of two versions."""
    from bench.run.provenance import changed_parts

    if parts := changed_parts(read_run(str(folder)).facts.harness.parts):
        write_file(folder / CHANGED_PARTS, "".join(f"{part}\n" for part in parts))


def _after_load(folder: Path, shown: Shown) -> RunState:
    """The state after the steps of the last wave."""
    state = run_state.load(folder)
    if not state.wave:
        raise UserError(f"{folder.name}: no step was begun")
    source = read_run(str(folder))
    for lane, id_ in state.wave.items():
        state = _after_step(folder, source, state.with_first(state.step(id_)), shown, lane_folder(folder, lane))
    return replace(state, wave={})


def _after_step(folder: Path, source: Run, state: RunState, shown: Shown, at: Path) -> RunState:
    """The state after the first step of the queue; `at` is the folder of its lane."""
    step = state.queue[0]
    if lost := run_state.record_finished(folder, step, at):
        if not (shown.screen.quiet or shown.screen.columns):
            shown.lines.append(f"{step.label}: to be measured again, because {lost}")
        return run_state.set_aside(folder, step, state, retries.LOST)
    # Not for a search for a knee, which itself repeats trials that noise has spoiled.
    alone = not (step.held or step.tells_rates or step.finds_knee or step.first.event)
    again = alone and step.seconds <= state.retry_s
    again = again and retries.may_be_noisy(folder / step.dir, null=step.first.mode == "null")
    if again and (noise := journal.noise(source, step)):
        if not (shown.screen.quiet or shown.screen.columns):
            shown.lines.append(f"{step.label}: to be measured again, because of noise on the host ({noise})")
        return run_state.set_aside(folder, step, state)
    nulls = [r for r in journal.records(journal.read(source.path), ("null",)) if r.id not in step.ids]
    mine = journal.append(source, step)
    if events := journal.events(source, step):
        return _behind(state, event_status(events), shown)
    return _behind(state, live_status(journal.reviewed(source, [*mine, *nulls])[: len(mine)], source.facts), shown)


def _choose(folder: Path, state: RunState, shown: Shown) -> tuple[int, RunState]:
    """Exit status and state; with STEP, the next step is the first one of the queue."""
    while True:
        if not state.queue:
            state = run_state.next_round(read_run(str(folder)), state, shown.now)
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
    """The state with the first step of the queue removed and its progress shown."""
    step, progress = state.queue[0], state.progress.after(state.queue[0], status)
    if not (shown.screen.quiet or shown.screen.columns):
        shown.lines.append(progress.log_line(step, status, shown.now))
    return replace(state, progress=progress, queue=state.queue[1:])


def _wave(folder: Path, state: RunState) -> dict[int, str]:
    """The ids of the next steps, by lane."""
    if state.lanes == 1:
        return {1: state.queue[0].id}
    steps = next_wave(state.queue, state.lane_of, lambda step: run_state.unverified(folder, step.services))
    return {lane: step.id for lane, step in steps.items()}


def _write_wave(folder: Path, state: RunState) -> None:
    """Write the step files of each lane that has a step, and remove those of other lanes."""
    steps = {lane: state.step(id_) for lane, id_ in state.wave.items()}
    search = any(step.finds_knee for step in steps.values())
    ceiling = knee_ceiling(journal.records(journal.read(str(folder)), ("null",))) if search else None
    for at in lane_folders(folder) if state.lanes > 1 else ():
        (at / STEP_FILE).unlink(missing_ok=True)
    for lane, step in steps.items():
        at = lane_folder(folder, lane)
        at.mkdir(parents=True, exist_ok=True)
        write_step(folder, step, at, ceiling if step.finds_knee else None)

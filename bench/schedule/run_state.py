"""The state of the measuring loop between two calls: RUN/loop.json, and the journal beside it.

Both belong to one call of scripts/matrix.sh. They are made from the run's raw files when it begins to measure, and
removed when it has nothing left to do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.core.typed import decoded, encoded
from bench.load.task import FILE as STEP
from bench.load.task import read_step
from bench.run import retries
from bench.run.folder import lane_folders
from bench.run.reader import Run, read_run
from bench.schedule import journal
from bench.schedule.common_rate import decide, with_rates
from bench.schedule.failures import reopen
from bench.schedule.finished import FILE as FINISHED
from bench.schedule.finished import lost_of, read_finished, record_step
from bench.schedule.progress import Progress
from bench.schedule.steps import Step, dealt, in_time, open_steps, steps_of
from bench.tools.levels import LoadKey
from driver.messages import Finished

FILE = "loop.json"


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of the loop.

    - `queue`: the steps of the round that are still to be measured.
    - `wave`: those under load, by lane.
    - `retry_s`: the seconds left to repeat windows that noise on the host spoiled.
    - `lane_of`: the lane of each step of the queue, if there are several lanes.
    """

    progress: Progress
    queue: tuple[Step, ...] = ()
    max_time_s: float | None = None
    wave: Mapping[int, str] = field(default_factory=dict)
    retry_s: float = 0.0
    lanes: int = 1
    lane_of: Mapping[str, int] = field(default_factory=dict)

    def step(self, id_: str) -> Step:
        """The step of the queue with this id."""
        return next(step for step in self.queue if step.id == id_)

    def with_first(self, step: Step) -> RunState:
        """The state with this step as the first one of the queue."""
        return replace(self, queue=(step, *(other for other in self.queue if other is not step)))


def begin(folder: Path, now: float, max_time_s: float | None, lanes: int = 1) -> RunState:
    """The state of a new loop, after recording what an earlier one left behind."""
    source = read_run(str(folder))
    _record_last(source)
    reopen(source)
    journal.rebuild(source)
    retry_s = retries.RETRIES * sum(one.seconds for one in source.planned if one.mode in ("solo", "null"))
    progress = Progress(began=now, ends=max_time_s)
    return next_round(source, RunState(progress, max_time_s=max_time_s, retry_s=retry_s, lanes=lanes), now)


def set_aside(folder: Path, step: Step, state: RunState, cause: str = retries.SPOILED) -> RunState:
    """The state with the first step at the end of the queue, to be measured again; its raw files are kept.

    A block's folder may also have measurements of an earlier step, which stay.
    """
    place, own = folder / step.dir, {folder / line.dir for line in step.lines}
    others = any(path.parent not in own for path in place.rglob("meta.json"))
    retries.set_aside(place, cause, own if others else ())
    queue = (*state.queue[1:], step)
    was = state.progress
    progress = replace(was, done=was.done + 1, count=was.count + 1, spent=was.spent + step.seconds)
    retry_s = state.retry_s - step.seconds * (cause == retries.SPOILED)
    return replace(state, progress=progress, queue=queue, retry_s=retry_s)


def next_round(source: Run, state: RunState, now: float) -> RunState:
    """The state with the open steps of the next round, without tables that already have their verdicts.

    If time is limited, tables that can reach their next look come first.
    """
    steps = tuple(_of_verified(Path(source.path), steps_of(source.planned)))
    lines = journal.read(source.path)
    in_turns = any(step.first.mode == "turns" for step in steps)
    settled = journal.settled(source, lines) if in_turns else set[LoadKey]()
    left = tuple(open_steps(steps, {line.id for line in lines if line.kind in (journal.TRIED, journal.DONE)}, settled))
    count, seconds = state.progress.done + len(left), sum(step.seconds for step in left)
    progress = replace(state.progress, count=count, left=seconds)
    # The tables first: they are the answer, and there may not be time for everything.
    first = tuple(step for step in left if step.held)
    # Their common rates are shares of knees, which come first.
    knees = any(level.knee_share for table in source.facts.tables for level in table.shares)
    first = (*(step for step in left if step.tells_rates or (knees and step.finds_knee)), *first) if first else left
    if state.max_time_s is not None:
        # Before the first step, assume that N lanes are N times as fast.
        times = 1 if progress.spent else state.lanes
        first = in_time(steps, first, times * progress.expected(state.max_time_s - now, now))
    # A run that was interrupted in its first round does not know the speeds of all services yet.
    waiting = {line.table for step in left if step.held and step.round == 1 for line in step.lines}
    decide(source, lines, waiting)
    queue = tuple(with_rates(source.path, (step for step in first if step.round == first[0].round)))
    lane_of = dealt(queue, state.lanes, f"{source.facts.seed} {queue[0].round}") if state.lanes > 1 and queue else {}
    return replace(state, progress=progress, queue=queue, lane_of=lane_of)


def _of_verified(folder: Path, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps; blocks leave out services that are not loaded. Other steps are skipped when it is their turn."""
    for step in steps:
        if not step.in_block:
            yield step
        elif kept := step.without(services=[name for name in step.services if unverified(folder, [name])]):
            yield kept


def record_finished(folder: Path, step: Step, at: Path) -> str:
    """Record the step that the host has just finished; `at` is the folder of its lane.

    If the step was lost and can be repeated, nothing is recorded and the reason is returned.
    """
    if (seen := read_finished(at)) is None:
        raise UserError(f"{at} has no {FINISHED}: step {step.id} did not finish")
    if not (lost := _lost(folder, step, seen)):
        record_step(folder, step, seen)
    (at / FINISHED).unlink()
    return lost


def _lost(folder: Path, step: Step, seen: Finished) -> str:
    lost = lost_of(seen)
    return lost[1] if lost and retries.may_be_lost(folder / step.dir) else ""


def _record_last(source: Run) -> None:
    """Record the last step of each lane, if a loop was interrupted between its end and its recording."""
    folder = Path(source.path)
    for at in lane_folders(folder):
        if (seen := read_finished(at)) is None:
            continue
        for step in steps_of(source.planned):
            # A lost step is measured again.
            if step.id == seen.id and not _lost(folder, step, seen):
                record_step(folder, _as_loaded(at, step), seen)
        (at / FINISHED).unlink()


def _as_loaded(at: Path, step: Step) -> Step:
    """The step as it was loaded: maybe only a part of the planned block."""
    if not (at / STEP).exists():
        return step
    loaded = Step(tuple(read_step(str(at)).planned.values()))
    return loaded if loaded.id == step.id else step


def unverified(folder: Path, services: Collection[str]) -> bool:
    """Whether one of these services failed, in its verification or before, and is not loaded."""
    return any((folder / "raw/services" / name / "failure.json").exists() for name in services)


def save(folder: Path, state: RunState) -> None:
    """Keep the state for the next call."""
    write_file(folder / FILE, encoded(state))


def load(folder: Path) -> RunState:
    """The state that the last call left."""
    try:
        return decoded(RunState, (folder / FILE).read_bytes())
    except FileNotFoundError:
        raise UserError(f"{folder / FILE} is missing: a loop begins with `next RUN --begin`") from None


def remove(folder: Path) -> None:
    """Remove the loop's files from the run's folder."""
    for at in lane_folders(folder):
        for name in (FILE, STEP, journal.FILE):
            (at / name).unlink(missing_ok=True)

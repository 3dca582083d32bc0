"""The state of the measuring loop between two calls: RUN/loop.json, and the journal beside it.

Both belong to one call of scripts/matrix.sh. They are made when it begins to measure, from the run's raw files, and
removed when it has nothing left to do.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.drive import journal
from bench.drive.common_rate import decide, of_knees, with_rates
from bench.drive.failures import reopen
from bench.drive.finished import FILE as FINISHED
from bench.drive.finished import lost_of, read_finished, record_step
from bench.drive.progress import Progress
from bench.drive.step_file import FILES, LINES
from bench.drive.steps import Step, dealt, in_time, open_steps, read_steps
from bench.records.resource_usage import whole
from bench.run import spoiled
from bench.run.folder import lane_folders
from bench.run.reader import Run, read_run
from bench.validity.run_rules import BOUND_AFTER
from driver.messages import Finished

FILE = "loop.json"


@dataclass(frozen=True, slots=True)
class RunState:
    """`queue` holds the steps of the round that are still to be measured; those of `wave`, by lane, are under load.

    `retry_s` is the time that is left for windows that noise of the host spoiled, in seconds. `lane_of` has the lane
    of each step of the queue, where there are several.
    """

    progress: Progress
    queue: tuple[Step, ...] = ()
    max_time_s: float | None = None
    wave: Mapping[int, str] = field(default_factory=dict)
    retry_s: float = 0.0
    lanes: int = 1
    lane_of: Mapping[str, int] = field(default_factory=dict)

    def step(self, id_: str) -> Step:
        """A step of the queue."""
        return next(step for step in self.queue if step.id == id_)

    def with_first(self, step: Step) -> RunState:
        """With this step as the first one of the queue."""
        return replace(self, queue=(step, *(other for other in self.queue if other is not step)))


def begin(folder: Path, now: float, max_time_s: float | None, lanes: int = 1) -> RunState:
    """The state of a loop that begins: what an earlier one left behind is recorded first."""
    _record_last(folder)
    reopen(folder)
    source = read_run(str(folder))
    journal.rebuild(source)
    alone = sum(one.seconds for one in source.planned if one.mode in ("solo", "null"))
    retry_s = spoiled.RETRIES * alone
    return next_round(source, RunState(Progress(began=now), max_time_s=max_time_s, retry_s=retry_s, lanes=lanes), now)


def set_aside(folder: Path, step: Step, state: RunState, cause: str = spoiled.SPOILED) -> RunState:
    """With the first step of the queue to be measured again at the end of its round; its raw files stay."""
    spoiled.set_aside(folder / step.dir, cause)
    queue = (*state.queue[1:], step)
    was = state.progress
    progress = replace(was, done=was.done + 1, count=was.count + 1, spent=was.spent + step.seconds)
    retry_s = state.retry_s - step.seconds * (cause == spoiled.SPOILED)
    return replace(state, progress=progress, queue=queue, retry_s=retry_s)


def next_round(source: Run, state: RunState, now: float) -> RunState:
    """With the open steps of the next round. Tables that have their verdicts by now are not measured on.

    Where the time does not suffice for all, those come first that get a look in it.
    """
    steps = tuple(_of_verified(Path(source.path), read_steps((Path(source.path) / "plan.jsonl").read_text())))
    lines = journal.read(source.path)
    modes = {step.mode for step in steps}
    settled = journal.settled(source, lines) if "turns" in modes else set[tuple[str, str, str]]()
    rounds = whole(source.facts.get("rounds")) or 0
    bound = journal.bound(source, lines) if "solo" in modes and rounds > BOUND_AFTER else ()
    left = tuple(open_steps(steps, journal.finished_ids(lines), settled=settled, bound=bound))
    progress = state.progress.expect(sum(step.seconds for step in left), len(left))
    # The tables first: they are the answer, and the time may be up before all is measured.
    first = tuple(step for step in left if step.held)
    knees = of_knees(source)
    first = (*(step for step in left if step.tells_rates or (knees and step.finds_knee)), *first) if first else left
    if state.max_time_s is not None:
        # Before any step, nothing shows yet how much faster several lanes are.
        times = 1 if progress.spent else state.lanes
        first = in_time(steps, first, times * progress.expected(state.max_time_s - now, now))
    decide(source, lines)
    queue = tuple(with_rates(source.path, (step for step in first if step.round == first[0].round)))
    lane_of = (
        dealt(queue, state.lanes, f"{source.facts.get('seed')} {queue[0].round}") if state.lanes > 1 and queue else {}
    )
    return replace(state, progress=progress, queue=queue, lane_of=lane_of)


def _of_verified(folder: Path, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, blocks without the services that are not loaded; of all others this is said when they come."""
    for step in steps:
        if not step.in_block:
            yield step
        elif kept := step.without(services=[name for name in step.services if unverified(folder, [name])]):
            yield kept


def record_finished(folder: Path, step: Step, at: Path) -> str:
    """Record the step that the host has just brought to its end; its lane has its folder `at`.

    Where something was lost that is no fault of its services, nothing is recorded, and that is returned, in words.
    """
    seen = read_finished(at)
    if seen is None:
        raise UserError(f"{at} has no {FINISHED}: step {step.id} did not finish")
    if not (lost := _lost(folder, step, seen)):
        record_step(folder, step, seen)
    (at / FINISHED).unlink()
    return lost


def _lost(folder: Path, step: Step, seen: Finished) -> str:
    lost = lost_of(seen)
    return lost.words if lost and spoiled.may_be_lost(folder / step.dir) else ""


def _record_last(folder: Path) -> None:
    """Record the last step, of each lane, of a loop that was cut after its end and before it was recorded."""
    for at in lane_folders(folder):
        seen = read_finished(at)
        if seen is None:
            continue
        for step in read_steps((folder / "plan.jsonl").read_text()):
            # What lost something that it needs is still to be measured.
            if step.id == seen.id and not _lost(folder, step, seen):
                record_step(folder, _as_loaded(at, step), seen)
        (at / FINISHED).unlink()


def _as_loaded(at: Path, step: Step) -> Step:
    """Of a block that was under load last, maybe not all that is planned was."""
    if not (at / LINES).exists():
        return step
    (loaded,) = read_steps((at / LINES).read_text()) or (step,)
    return loaded if loaded.id == step.id else step


def unverified(folder: Path, services: Collection[str]) -> bool:
    """Whether one of these services did not pass its verification, so that it is not loaded."""
    return any((folder / "raw/services" / name / "failure.json").exists() for name in services)


def save(folder: Path, state: RunState) -> None:
    """Keep the state for the next call."""
    kept: dict[str, Any] = {"progress": asdict(state.progress), "queue": [step.lines for step in state.queue]}
    kept |= {"max_time_s": state.max_time_s, "wave": state.wave, "retry_s": state.retry_s}
    kept |= {"lanes": state.lanes, "lane_of": state.lane_of}
    write_file(folder / FILE, json.dumps(kept))


def load(folder: Path) -> RunState:
    """The state that the last call left."""
    try:
        kept = json.loads((folder / FILE).read_text())
    except FileNotFoundError:
        raise UserError(f"{folder / FILE} is missing: a loop begins with `next RUN --begin`") from None
    queue = tuple(Step(tuple(lines)) for lines in kept["queue"])
    wave = {int(lane): id_ for lane, id_ in kept["wave"].items()}
    times = (kept["max_time_s"], wave, kept["retry_s"])
    return RunState(Progress(**kept["progress"]), queue, *times, kept["lanes"], kept["lane_of"])


def remove(folder: Path) -> None:
    """Leave nothing of the loop in the run's folder."""
    for at in lane_folders(folder):
        for name in (FILE, *FILES, journal.FILE):
            (at / name).unlink(missing_ok=True)

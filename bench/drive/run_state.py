"""The state of the measuring loop between two calls: RUN/loop.json, and the journal beside it.

Both belong to one call of scripts/matrix.sh. They are made when it begins to measure, from the run's raw files, and
removed when it has nothing left to do.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.drive import journal
from bench.drive.finished import FILE as FINISHED
from bench.drive.finished import ended_dependencies, read_facts, record_step
from bench.drive.progress import Progress
from bench.drive.step_file import LINES
from bench.drive.steps import Step, open_steps, read_steps
from bench.drive.try_again import reopen
from bench.drive.within_time import in_time
from bench.records.resource_usage import whole
from bench.run import spoiled
from bench.run.reader import Run, read_run
from bench.validity.bound_cells import BOUND_AFTER

FILE = "loop.json"
STEP_FILE = "step.sh"


@dataclass(frozen=True, slots=True)
class RunState:
    """`queue` holds the steps of the round that are still to be measured; the first one may be under load.

    `retry_s` is the time that is left for windows that noise of the host spoiled, in seconds.
    """

    progress: Progress
    queue: tuple[Step, ...] = ()
    max_time_s: float | None = None
    under_load: bool = False
    retry_s: float = 0.0


def begin(folder: Path, now: float, max_time_s: float | None) -> RunState:
    """The state of a loop that begins: what an earlier one left behind is recorded first."""
    _record_last(folder)
    reopen(folder)
    source = read_run(str(folder))
    journal.rebuild(source)
    alone = sum(one.seconds for one in source.planned if one.mode in ("solo", "null"))
    return next_round(
        source, RunState(Progress(began=now), max_time_s=max_time_s, retry_s=spoiled.RETRIES * alone), now
    )


def set_aside(folder: Path, step: Step, state: RunState, cause: str = spoiled.SPOILED) -> RunState:
    """With the first step of the queue to be measured again at the end of its round; its raw files stay."""
    spoiled.set_aside(folder / step.dir, cause)
    queue = (*state.queue[1:], step)
    was = state.progress
    progress = replace(was, done=was.done + 1, count=was.count + 1, spent=was.spent + step.seconds)
    retry_s = state.retry_s - step.seconds * (cause == spoiled.SPOILED)
    return replace(state, progress=progress, queue=queue, under_load=False, retry_s=retry_s)


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
    first = tuple(step for step in left if step.mode == "turns") or left
    if state.max_time_s is not None:
        first = in_time(steps, first, progress.expected(state.max_time_s - now, now))
    queue = tuple(step for step in first if step.round == first[0].round)
    return replace(state, progress=progress, queue=queue, under_load=False)


def _of_verified(folder: Path, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps, blocks without the services that are not loaded; of all others this is said when they come."""
    for step in steps:
        if step.mode != "turns":
            yield step
        elif kept := step.without(services=[name for name in step.services if unverified(folder, [name])]):
            yield kept


def record_finished(folder: Path, step: Step) -> str:
    """Record the step that the host has just brought to its end.

    Where something that all services need ended during it, nothing is recorded, and that is returned, in words.
    """
    facts = read_facts(folder / FINISHED)
    if facts is None:
        raise UserError(f"{folder} has no {FINISHED}: the step {step.id} did not come to its end")
    if not (lost := _lost(folder, step, facts)):
        record_step(folder, step, facts)
    (folder / FINISHED).unlink()
    return lost


def _lost(folder: Path, step: Step, facts: Mapping[str, str]) -> str:
    return ended_dependencies(facts) if spoiled.may_be_lost(folder / step.dir) else ""


def _record_last(folder: Path) -> None:
    """Record the last step of a loop that was cut after its end and before it was recorded."""
    facts = read_facts(folder / FINISHED)
    if facts is None:
        return
    steps = read_steps((folder / "plan.jsonl").read_text())
    for step in steps:
        # What lost something that it needs is still to be measured.
        if step.id == facts.get("id") and not _lost(folder, step, facts):
            record_step(folder, _as_loaded(folder, step), facts)
    (folder / FINISHED).unlink()


def _as_loaded(folder: Path, step: Step) -> Step:
    """Of a block that was under load last, maybe not all that is planned was."""
    if step.mode != "turns" or not (folder / LINES).exists():
        return step
    (loaded,) = read_steps((folder / LINES).read_text()) or (step,)
    return loaded if loaded.id == step.id else step


def unverified(folder: Path, services: Collection[str]) -> bool:
    """Whether one of these services did not pass its verification, so that it is not loaded."""
    return any((folder / "raw/services" / name / "failure.json").exists() for name in services)


def save(folder: Path, state: RunState) -> None:
    """Keep the state for the next call."""
    kept: dict[str, Any] = {"progress": asdict(state.progress), "queue": [step.lines for step in state.queue]}
    kept |= {"max_time_s": state.max_time_s, "under_load": state.under_load, "retry_s": state.retry_s}
    write_file(folder / FILE, json.dumps(kept))


def load(folder: Path) -> RunState:
    """The state that the last call left."""
    try:
        kept = json.loads((folder / FILE).read_text())
    except FileNotFoundError:
        raise UserError(f"{folder / FILE} is missing: a loop begins with `next RUN --begin`") from None
    queue = tuple(Step(tuple(lines)) for lines in kept["queue"])
    return RunState(Progress(**kept["progress"]), queue, kept["max_time_s"], kept["under_load"], kept["retry_s"])


def remove(folder: Path) -> None:
    """Leave nothing of the loop in the run's folder."""
    for name in (FILE, STEP_FILE, LINES, journal.FILE):
        (folder / name).unlink(missing_ok=True)

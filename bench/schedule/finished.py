"""The end of a step: writes the meta.json of each of its measurements from what the driver saw.

RUN/finished.json has exit statuses, times and images; the load generator's output is in the step's folder. meta.json
marks a measurement as complete and is written last.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import as_object, mapping, read_bytes, write_file
from bench.core.formats import printable
from bench.load.failures import NO_ANSWER, TOOL_FAILED, WRONG_ANSWER
from bench.plan.measurement import Measurement
from bench.records.record import Outcome
from bench.run.raw_files import HASHES, hashes_of, read_files
from bench.schedule.steps import Step
from driver.messages import FINISHED, Finished, MessageError, message, read

FILE = FINISHED
LONGEST = 300
"""The most characters of a detail taken from a log."""


def read_finished(folder: Path) -> Finished | None:
    """What the driver saw of the last step of a run or lane; None if there is no such file."""
    try:
        data = read(folder / FILE)
        return None if data is None else message(Finished, data)
    except MessageError as error:
        raise UserError(str(error)) from error


def lost_of(seen: Finished) -> tuple[Outcome, str] | None:
    """The outcome of a step that was lost, not through a fault of its services, and why; None if it was not."""
    if seen.ended_dependencies:
        return Outcome.LOST, f"{', '.join(seen.ended_dependencies)} ended during it"
    if seen.unreached:
        words = "answered on its own machine but not to the load generator"
        return Outcome.UNREACHED, f"{', '.join(seen.unreached)} {words}"
    return None


def record_step(run: Path, step: Step, seen: Finished) -> None:
    """Write meta.json of the step's measurements; UserError if the driver saw another step."""
    if seen.id != step.id:
        raise UserError(f"{run / FILE} is of step {seen.id}, not of {step.id}: remove it")
    for (name, meta), line in zip(metas(run, step, seen), step.lines, strict=True):
        folder = run / name
        folder.mkdir(parents=True, exist_ok=True)
        if lost := lost_of(seen):
            meta["outcome"], meta["detail"] = lost
        meta[HASHES] = hashes_of(read_files(str(run), line))
        write_file(folder / "meta.json", json.dumps(meta, ensure_ascii=False) + "\n")


def metas(run: Path, step: Step, seen: Finished) -> Iterator[tuple[str, dict[str, Any]]]:
    """The folder of each measurement, relative to the run's, and the content of its meta.json."""
    for line in step.lines:
        name = line.container
        outcome, detail = _outcome(run, step, seen, line)
        meta = {"schema": 1, "id": line.id, "outcome": outcome, "detail": detail, "begin_ns": seen.begin_ns}
        if not step.in_block:
            # Only for a service alone: several that start side by side slow each other down.
            times = _times(run / step.dir / "services" / f"{name}.txt")
            meta |= {"image_id": seen.image_ids.get(name) or None, "started_ns": seen.started_ns.get(name)}
            meta |= {"ready_ns": times.get("ready"), "warm_ns": times.get("warm"), "loaded_ns": seen.loaded_ns}
        yield line.dir, meta | {"end_ns": seen.end_ns} | ({"node": seen.node} if seen.node else {})


def _outcome(run: Path, step: Step, seen: Finished, line: Measurement) -> tuple[str, str]:
    """The outcome of a measurement, and a detail. What was measured before its service failed still counts."""
    name, services = line.container, run / step.dir / "services"
    if seen.statuses.get("start"):
        words = last_words(run / "raw/services" / name / "start.log")
        return Outcome.SILENT if line.url else Outcome.NOT_STARTED, words
    said, status = services / f"{name}.txt", _saved_status(services / f"{name}.status")
    tool = as_object(read_bytes(str(run / line.dir / "tool.json")) or b"")
    # For a service alone, the load's exit status decides. An event that the engine cannot do has not begun.
    begun = step.held or (step.in_block and "start" in seen.statuses)
    whole = tool is not None if begun else seen.statuses.get("run") == 0
    health = mapping(mapping(tool).get("health_after")).get("status")
    if whole and (line.event or name not in seen.ended or line.exchange.is_good(health or 0)):
        return Outcome.MEASURED, ""
    answered = "ready" in _times(said)
    log = last_words(services / f"{name}.log") if name in seen.ended else ""
    its_words = f"; last log line: {log}" if log else ""
    if name in seen.ended and (answered or status != NO_ANSWER):
        return Outcome.DIED, f"its container ended{its_words}"
    if status == NO_ANSWER:
        return Outcome.SILENT if answered or line.url else Outcome.NOT_STARTED, last_words(said) + its_words
    if status:
        return Outcome.WRONG if status == WRONG_ANSWER else Outcome.TOOL_FAILED, last_words(said)
    reached = "run" if "run" in seen.statuses else "prepare"
    silent = f"the load generator ended with status {seen.statuses.get(reached, 0)} and no word, before this window"
    return Outcome.TOOL_FAILED, last_words(run / step.dir / f"{reached}.txt") or silent


def last_words(path: Path) -> str:
    """The last non-blank line of a file, made printable; empty if there is none."""
    lines = [line for line in _lines(path) if line.strip()]
    return printable(lines[-1]) if lines else ""


def _saved_status(path: Path) -> int:
    """The saved exit status of a service; 0 if there is no file, TOOL_FAILED if it is not a number."""
    status = last_words(path)
    return int(status) if status.isdecimal() else TOOL_FAILED if path.exists() else 0


def _times(path: Path) -> dict[str, int]:
    """The times `ready NS` and `warm NS` that loadgen/measure has printed."""
    found = (line.split() for line in _lines(path))
    return {words[0]: int(words[1]) for words in found if len(words) == 2 and words[1].isdecimal()}


def _lines(path: Path) -> Sequence[str]:
    with suppress(FileNotFoundError):
        return path.read_text(errors="surrogateescape").split("\n")
    return ()

"""The end of a step: what the driver saw becomes the meta.json of each of its measurements.

RUN/finished.json has exit statuses, times, images. What the load generator said is in the step's own folder. meta.json
marks a measurement as whole and is written last.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import as_object, mapping, read_bytes, write_file
from bench.drive.steps import Step
from bench.records.record import MEASURED
from bench.run.raw_files import HASHES, hashes_of, read_files
from driver.messages import FINISHED, Finished, MessageError, finished_of, read

FILE = FINISHED
OUTCOMES = {10: "did not start", 11: "answers wrongly"}
"""Exit statuses of loadgen/measure that say what is wrong with the service; the others: with the load tool."""
NO_ANSWER = "does not answer"
"""Of a server that already ran, and of one that had started: it gave an answer before."""
TOOL_FAILED, DIED = "load tool failed", "died"
LOST, UNREACHED = "dependency ended", "not reached"
"""The outcomes where what all services need (database, upstream, load generator) ended again and again, or the network
between two machines lost a service."""


def read_finished(folder: Path) -> Finished | None:
    """What the driver saw of the last step of a run or a lane; None where there is no such file."""
    try:
        data = read(folder / FILE)
        return None if data is None else finished_of(data)
    except MessageError as error:
        raise UserError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Lost:
    """What a step lost that was no fault of its services: the outcome of its measurements, and the reason in words."""

    outcome: str
    words: str


def lost_of(seen: Finished) -> Lost | None:
    """What the step lost; None where nothing was."""
    if seen.ended_dependencies:
        return Lost(LOST, f"{', '.join(seen.ended_dependencies)} ended during it")
    if seen.unreached:
        return Lost(
            UNREACHED, f"{', '.join(seen.unreached)} answered on its own machine and not to the load generator's"
        )
    return None


def record_step(run: Path, step: Step, seen: Finished) -> None:
    """Write what marks the step's measurements as whole; UserError where another step was seen."""
    if seen.id != step.id:
        raise UserError(f"{run / FILE} is of step {seen.id}, not of {step.id}: remove it")
    for (name, meta), line in zip(metas(run, step, seen), step.lines, strict=True):
        folder = run / name
        folder.mkdir(parents=True, exist_ok=True)
        if lost := lost_of(seen):
            meta |= {"outcome": lost.outcome, "detail": lost.words}
        meta[HASHES] = hashes_of(read_files(str(folder), line["tool"]))
        write_file(folder / "meta.json", json.dumps(meta, ensure_ascii=False) + "\n")


def metas(run: Path, step: Step, seen: Finished) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each measurement's folder in the run's, and its meta.json."""
    if step.mode == "turns":
        yield from _turns(run, step, seen)
    else:
        yield step.dir, _solo(run, step, seen)


def _solo(run: Path, step: Step, seen: Finished) -> dict[str, Any]:
    folder = run / step.dir
    outcome, detail = MEASURED, ""
    if not seen.status("start"):
        for verb in ("prepare", "run"):
            if outcome == MEASURED:
                said, alive = folder / f"{verb}.txt", seen.alive is True
                outcome, detail = _outcome(seen.status(verb), said, alive=alive)
        if outcome == MEASURED and seen.alive is False:
            outcome, detail = DIED, "the container ended under load"
    else:
        outcome, detail = _not_started(run, step.services[0])
    outcome = _of_running(step.first, outcome)
    times = _times(folder / "prepare.txt")
    return {
        "schema": 1,
        "id": step.id,
        "outcome": outcome,
        "detail": detail,
        "image_id": seen.image_id or None,
        "begin_ns": seen.begin_ns,
        "started_ns": seen.started_ns,
        "ready_ns": times.get("ready"),
        "warm_ns": times.get("warm"),
        "loaded_ns": seen.loaded_ns,
        "end_ns": seen.end_ns,
        **_node(seen),
    }


def _turns(run: Path, step: Step, seen: Finished) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of each measurement of a block. A service that fails is left out of it; the others are measured."""
    for line in step.lines:
        outcome, detail = _turns_outcome(run, step, seen, line)
        outcome = _of_running(line, outcome)
        meta = {"schema": 1, "id": line["id"], "outcome": outcome, "detail": detail}
        meta |= {"begin_ns": seen.begin_ns, "end_ns": seen.end_ns, **_node(seen)}
        yield line["dir"], meta


def _turns_outcome(run: Path, step: Step, seen: Finished, line: Mapping[str, Any]) -> tuple[str, str]:
    """What became of one window of one service: what it had measured before it failed stays."""
    name = line["service"]
    services, said = run / step.dir / "services", run / step.dir / "turns.txt"
    if seen.status("start"):
        return _not_started(run, name)
    tool = as_object(read_bytes(str(run / line["dir"] / "tool.json")) or b"")
    ended = name in seen.ended
    if tool is not None and (not ended or mapping(tool.get("health_after")).get("status") == 200):
        return MEASURED, ""
    if ended:
        words = last_words(services / f"{name}.log")
        return DIED, "its container ended" + (f"; its last words: {words}" if words else "")
    if (services / f"{name}.status").exists() and (status := _saved_status(services / f"{name}.status")):
        return _outcome(status, services / f"{name}.txt", alive=True)
    return TOOL_FAILED, last_words(said) or "its window was not reached"


def _outcome(status: int, said: Path, *, alive: bool) -> tuple[str, str]:
    if status == 0:
        return MEASURED, ""
    outcome = OUTCOMES.get(status, TOOL_FAILED)
    if outcome == OUTCOMES[10] and "ready" in _times(said):
        outcome = NO_ANSWER
    if outcome != OUTCOMES[10] and not alive:
        outcome = DIED
    return outcome, last_words(said)


def _of_running(line: Mapping[str, Any], outcome: str) -> str:
    return NO_ANSWER if line.get("url") and outcome == OUTCOMES[10] else outcome


def _not_started(run: Path, service: str) -> tuple[str, str]:
    return OUTCOMES[10], last_words(run / "raw/services" / service / "start.log")


def last_words(path: Path) -> str:
    """The last line of a file that holds anything, as one line that a terminal can show; empty where there is none."""
    lines = [line for line in _lines(path) if line.strip()]
    return "".join(mark if mark.isprintable() else " " for mark in lines[-1]) if lines else ""


def _saved_status(path: Path) -> int:
    """The exit status that was saved of a service of a block; 12 (the load tool) where there is none."""
    status = last_words(path)
    return int(status) if status.isdecimal() else 12


def _times(path: Path) -> dict[str, int]:
    """`ready NS` and `warm NS`, which loadgen/measure prints."""
    found = (line.split() for line in _lines(path))
    return {words[0]: int(words[1]) for words in found if len(words) == 2 and words[1].isdecimal()}


def _lines(path: Path) -> Sequence[str]:
    try:
        return path.read_text(errors="surrogateescape").split("\n")
    except FileNotFoundError:
        return ()


def _node(seen: Finished) -> dict[str, str]:
    """Where the services under test were, of a run on several machines."""
    return {"node": seen.node} if seen.node else {}

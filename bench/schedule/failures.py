"""Services that are not loaded: why, and which of them `--resume` tries again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.core.files import as_object, mapping, read_bytes, write_file
from bench.core.formats import first_of, plural
from bench.plan.measurement import Measurement
from bench.records.outcome import KILLED
from bench.records.record import MEASURED
from bench.run import retries
from bench.run.facts import read_run_facts
from bench.run.process import EQUAL
from bench.run.reader import COMMAND, RUNNING_ANSWERS, Run, counters_of, read_run
from bench.schedule.finished import LONGEST, last_words
from bench.schedule.steps import steps_of
from bench.validity.measurement_rules import OUT_OF_MEMORY


def _no_answer(folder: Path, seconds: str) -> tuple[str, str]:
    words = last_words(folder / "server.log")
    tried = last_words(folder / "answer.txt")
    return "did not start", f"no answer in {seconds} s{tried and f' ({tried[:LONGEST]})'}; last log line: {words}"


def _not_verified(folder: Path, status: str) -> tuple[str, str]:
    """The verifier ended early; if a check fails, it writes failure.json itself."""
    words = last_words(folder / "verify.txt")
    words = f"the verifier ended with status {status}; last log line: {words}" if status else words
    return "failed verification", words


def _not_built(folder: Path) -> str:
    # Its tables take time to read, and the steps of the loop do not need them.
    from bench.schedule.build_log import build_error, with_advice

    log = (folder / "build.log").read_text(errors="replace")
    run = folder.parents[2]
    app = read_run_facts(run).own_app
    words = with_advice(build_error(log), log, app.apt) if app else build_error(log)
    return f"{words} (the whole log is in results/{run.name}/raw/services/{folder.name}/build.log)"


CAUSES: Mapping[str, Callable[[Path, str], tuple[str, str]]] = {
    "base": lambda _, image: ("base image not reachable", f"{image} cannot be pulled or made here"),
    "build": lambda folder, _: ("build failed", _not_built(folder)),
    "start": lambda folder, _: ("did not start", last_words(folder / "start.log")),
    "answer": _no_answer,
    "verification": _not_verified,
    "equal": lambda _, words: (EQUAL, words),
}


def record_failure(folder: Path, cause: str, detail: str) -> str:
    """Write failure.json in a service's folder for one of `CAUSES`; returns the outcome and its detail."""
    path = folder / "failure.json"
    verified = cause == "verification" and path.exists()
    outcome, words = CAUSES[cause](folder, detail)
    failure = json.loads(path.read_text()) if verified else {"outcome": outcome, "detail": words}
    killed = out_of_memory(folder) and failure["outcome"] != OUT_OF_MEMORY
    if killed:
        failure |= {"outcome": OUT_OF_MEMORY, "detail": f"{KILLED}; {failure['outcome']}: {failure['detail']}"}
    # As long as the plan is the same, the sides are.
    failure |= {FINAL: True} if cause == "equal" else {}
    if killed or not verified:
        write_file(path, json.dumps(failure, ensure_ascii=False) + "\n")
    return f"{failure['outcome']}: {failure['detail']}"


def out_of_memory(folder: Path) -> bool:
    """Whether the kernel killed a process of the service at its container's memory limit, according to state.txt."""
    state = counters_of(read_bytes(str(folder / "state.txt")))
    return state.get("oom_killed") == "true" or state.get("oom_kill", "0") != "0"


def none_measured(run: Path) -> str:
    """A line if no service of the run was measured: why; else empty."""
    source, failed = read_run(str(run)), {*failed_services(run)}
    names = [*source.facts.services]
    for planned in source.planned:
        outcome = _outcome(run, planned)
        if outcome is not None and planned.service in names:
            if outcome == MEASURED:
                return ""
            failed.add(planned.service)
    if not names:
        return ""
    if len(failed) < len(names):
        return "nothing was measured before the run ended"
    many = f"none of the {len(names)} services could be measured" if len(names) > 1 else f"{names[0]} was not measured"
    return f"{many}; report.md says why"


FAILURE, VERIFIED = "failure.json", "verify.json"
FINAL = "final"
"""A key of failure.json: if true, another try would fail, too."""
INCOMPLETE = "incomplete"
"""Part of the name of a window's folder that was set aside because a service was missing: DIR.incomplete-1, ..."""
MOST_NAMES = 8
"""The most names in one line."""


def failed_services(run: Path) -> dict[str, Mapping[str, Any]]:
    """The services that failed and are not loaded, with their failure.json."""
    found = {name: read_bytes(str(run / "raw/services" / name / FAILURE)) for name in read_run_facts(run).services}
    return {name: mapping(as_object(text)) for name, text in found.items() if text is not None}


def try_again(run: Path) -> str:
    """Set aside the files of failures that are not final; returns a line that says so, empty if there are none."""
    names = [name for name, failure in failed_services(run).items() if failure.get(FINAL) is not True]
    for name in names:
        _set_aside(run / "raw/services" / name)
    if not names:
        return ""
    verb, them = ("is", "it") if len(names) == 1 else ("are", "them")
    words = f"{plural(len(names), 'service')} that failed {verb} tried again: {first_of(names, MOST_NAMES)}"
    if windows := len(missed_windows(read_run(str(run)))):
        words += f"; {plural(windows, 'window')} in turns without {them} will be loaded again with {them}"
    return words


def reopen(source: Run) -> None:
    """Set aside windows in turns that lack a service which is verified now, so that they are loaded again with it.

    The service can only be compared with others that were loaded at the same time.
    """
    for window in sorted(missed_windows(source)):
        retries.set_aside(window, INCOMPLETE)


def missed_windows(source: Run) -> set[Path]:
    """The folders of windows that a block measured without one of its services that has not failed."""
    run, windows = Path(source.path), set[Path]()
    failed = failed_services(run)
    for step in steps_of(source.planned):
        if not step.held:
            continue
        # Loads at common rates may be missing in a block; they are repeated with their table.
        turns = [line for line in step.lines if line.share_of is None]
        outcomes = {line.id: _outcome(run, line) for line in turns}
        done = step.tables_in([name for name, outcome in outcomes.items() if outcome == MEASURED])
        never = step.tables_in([line.id for line in turns if outcomes[line.id] is None and line.service not in failed])
        folders = {(run / line.dir).parent for line in turns if line.table in done & never}
        windows |= {folder for folder in folders if folder.is_dir()}
    return windows


def _outcome(run: Path, planned: Measurement) -> str | None:
    """The outcome of a measurement; None if it has no meta.json."""
    text = read_bytes(str(run / planned.dir / "meta.json"))
    return None if text is None else str(mapping(as_object(text)).get("outcome"))


def _set_aside(folder: Path) -> None:
    """Move a failed service's files into FOLDER/failed-N.

    If it was verified before, or its responses were recorded, only failure.json: its image and its expected responses
    stay those that the run began with.
    """
    passed = mapping(as_object(read_bytes(str(folder / VERIFIED)) or b"")).get("failed") == 0
    passed = passed or (folder / RUNNING_ANSWERS).exists()
    # Its command is part of the plan.
    names = [path.name for path in folder.iterdir() if not path.name.startswith("failed-") and path.name != COMMAND]
    names = [FAILURE] if passed else names
    kept = folder / f"failed-{1 + sum(1 for _ in folder.glob('failed-*'))}"
    kept.mkdir()
    # failure.json last: after an interruption, everything is set aside again.
    for name in sorted(names, key=lambda name: name == FAILURE):
        (folder / name).rename(kept / name)

"""Why a service is not loaded, in words: from what its build, its start and its verification left behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.core.files import as_object, mapping, read_bytes, write_file
from bench.drive.finished import last_words
from bench.records.record import MEASURED
from bench.validity.measurement_rules import OUT_OF_MEMORY

KILLED = "killed at its container's limit of memory"
"""What is said of a service before what else is known of its failure."""
LONGEST = 300
"""Characters of a detail that comes from a log."""


def _no_base(_folder: Path, image: str) -> tuple[str, str]:
    return "base image not reachable", f"{image} cannot be pulled or made here"


def _not_built(folder: Path, _detail: str) -> tuple[str, str]:
    return "build failed", build_error((folder / "build.log").read_text(errors="replace"))[:LONGEST]


def _not_started(folder: Path, _detail: str) -> tuple[str, str]:
    return "did not start", last_words(folder / "start.log")


def _no_answer(folder: Path, seconds: str) -> tuple[str, str]:
    words = last_words(folder / "server.log")
    tried = last_words(folder / "answer.txt")
    return "did not start", f"no answer in {seconds} s{tried and f' ({tried[:LONGEST]})'}; its last words: {words}"


def _not_verified(folder: Path, status: str) -> tuple[str, str]:
    """The verifier itself writes failure.json where a check failed: here it was cut."""
    words = last_words(folder / "verify.txt")
    return (
        "failed verification",
        f"the verifier ended with status {status}; its last words: {words}" if status else words,
    )


CAUSES: Mapping[str, Callable[[Path, str], tuple[str, str]]] = {
    "base": _no_base,
    "build": _not_built,
    "start": _not_started,
    "answer": _no_answer,
    "verification": _not_verified,
}


def record_failure(folder: Path, cause: str, detail: str) -> str:
    """Write failure.json of the service whose folder that is, for one of `CAUSES`; the outcome and its detail."""
    path = folder / "failure.json"
    verified = cause == "verification" and path.exists()
    outcome, words = CAUSES[cause](folder, detail)
    failure = json.loads(path.read_text()) if verified else {"outcome": outcome, "detail": words}
    killed = out_of_memory(folder) and failure["outcome"] != OUT_OF_MEMORY
    if killed:
        failure |= {"outcome": OUT_OF_MEMORY, "detail": f"{KILLED}; {failure['outcome']}: {failure['detail']}"}
    if killed or not verified:
        write_file(path, json.dumps(failure, ensure_ascii=False) + "\n")
    return f"{failure['outcome']}: {failure['detail']}"


def out_of_memory(folder: Path) -> bool:
    """Whether the kernel has killed a process of the service at its container's limit of memory, by state.txt."""
    text = (read_bytes(str(folder / "state.txt")) or b"").decode(errors="replace")
    state = dict(words for line in text.splitlines() if len(words := line.split()) == 2)
    return state.get("oom_killed") == "true" or state.get("oom_kill", "0") != "0"


def build_error(log: str) -> str:
    """The last words of the step that failed, which BuildKit repeats at the end behind their time; else its own."""
    repeated = re.findall(r"^\d+\.\d+ +(.*\S)[ \t]*$", log, re.MULTILINE)
    errors = [line for line in log.splitlines() if "error" in line.lower() and not line.startswith("--")]
    found = repeated or errors
    return "".join(mark if mark.isprintable() else " " for mark in found[-1]) if found else ""


def none_measured(run: Path) -> str:
    """A line if every service of the run has failed, in its verification or in every load of it; else empty."""
    facts = mapping(as_object(read_bytes(str(run / "run.json")) or b""))
    names = list(mapping(facts.get("services")))
    failed = {name for name in names if (run / "raw/services" / name / "failure.json").exists()}
    for line in (run / "plan.jsonl").read_text().splitlines():
        planned = mapping(as_object(line.encode()))
        meta = read_bytes(f"{run}/{planned.get('dir')}/meta.json")
        if meta is not None and planned.get("service") in names:
            if mapping(as_object(meta)).get("outcome") == MEASURED:
                return ""
            failed.add(str(planned["service"]))
    if not names or len(failed) < len(names):
        return ""
    many = f"none of the {len(names)} services could be measured" if len(names) > 1 else f"{names[0]} was not measured"
    return f"{many}; report.md says why"

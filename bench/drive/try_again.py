"""Services that failed and may pass now: `--resume` tries them again, and what was loaded without them meanwhile.

A failure is final if the service answered wrongly: the next try would show the same. All others may have passed by
now: a build, a base, a start, an answer that came too late, a verification that came to no end, an engine that was
away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.core.files import as_object, mapping, read_bytes
from bench.drive.steps import Step, read_steps
from bench.records.record import MEASURED
from bench.run import spoiled
from bench.run.reader import RUNNING_ANSWERS

FAILURE, VERIFIED = "failure.json", "verify.json"
FINAL = "final"
"""A key of failure.json: what is true there was no matter of luck."""
INCOMPLETE = "incomplete"
"""What a window's folder is called that was loaded without a service: DIR.incomplete-1, ..."""
LONGEST = 8
"""Names in one line."""


def failed_services(run: Path) -> dict[str, Mapping[str, Any]]:
    """The services that are not loaded, with their failure.json."""
    names = mapping(as_object(read_bytes(str(run / "run.json")) or b"")).get("services")
    found = {name: read_bytes(str(run / "raw/services" / name / FAILURE)) for name in mapping(names)}
    return {name: mapping(as_object(text)) for name, text in found.items() if text is not None}


def try_again(run: Path) -> str:
    """Set aside what failures that are not final left; a line that says so, empty if there is none."""
    names = [name for name, failure in failed_services(run).items() if failure.get(FINAL) is not True]
    for name in names:
        _set_aside(run / "raw/services" / name)
    if not names:
        return ""
    shown = ", ".join(names[:LONGEST]) + (f" and {len(names) - LONGEST} more" if len(names) > LONGEST else "")
    one = len(names) == 1
    words = f"{len(names)} service{'' if one else 's'} that failed {'is' if one else 'are'} tried again: {shown}"
    steps = read_steps((run / "plan.jsonl").read_text())
    if windows := len(missed_windows(run, steps, failed_services(run).keys())):
        many, them = "" if windows == 1 else "s", "it" if one else "them"
        words += f"; {windows} window{many} in turns without {them} will be loaded again with {them}"
    return words


def reopen(run: Path) -> None:
    """Set aside the windows in turns without a service that is verified now: they are loaded again with it.

    It can only be compared with what was loaded in the same seconds.
    """
    steps = read_steps((run / "plan.jsonl").read_text())
    for window in sorted(missed_windows(run, steps, failed_services(run).keys())):
        spoiled.set_aside(window, INCOMPLETE)


def missed_windows(run: Path, steps: Iterable[Step], failed: Collection[str]) -> set[Path]:
    """The folders of windows that were measured in a block without one of its services, which has not failed."""
    found: set[Path] = set()
    for step in steps:
        if step.mode != "turns":
            continue
        outcomes = {line["id"]: _outcome(run, line) for line in step.lines}
        done = step.tables_in([name for name, outcome in outcomes.items() if outcome == MEASURED])
        never = step.tables_in(
            [line["id"] for line in step.lines if outcomes[line["id"]] is None and line["service"] not in failed]
        )
        folders = {(run / line["dir"]).parent for line in step.lines if step.table_of(line) in done & never}
        found |= {folder for folder in folders if folder.is_dir()}
    return found


def _outcome(run: Path, line: Mapping[str, Any]) -> str | None:
    """Of a measurement; None where it has no meta.json."""
    text = read_bytes(str(run / line["dir"] / "meta.json"))
    return None if text is None else str(mapping(as_object(text)).get("outcome"))


def _set_aside(folder: Path) -> None:
    """What the service left, into FOLDER/failed-N.

    Of one that was verified before, or whose own answers were recorded, only why it was not loaded now: what it is
    made of and has to answer stays what the run began with.
    """
    passed = mapping(as_object(read_bytes(str(folder / VERIFIED)) or b"")).get("failed") == 0
    passed = passed or (folder / RUNNING_ANSWERS).exists()
    names = [FAILURE] if passed else [path.name for path in folder.iterdir() if not path.name.startswith("failed-")]
    kept = folder / f"failed-{1 + sum(1 for _ in folder.glob('failed-*'))}"
    kept.mkdir()
    # failure.json last: whoever is cut before it begins again here.
    for name in sorted(names, key=lambda name: name == FAILURE):
        (folder / name).rename(kept / name)

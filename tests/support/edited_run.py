"""A synthetic run with a measurement of each kind, recorded as by the measuring loop, with sha256 in meta.json."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from loop_runs import block, finish, finish_block, one_step, tables_of
from make_run import entry, write_knee, write_run

from bench.schedule.finished import FILE, read_finished, record_step
from bench.schedule.steps import Step

KNEE = "knee-p99-50ms"
RATE = 1000


def write_run_of_each_kind(folder: Path) -> Path:
    """Writes measurements of wrk, hey, ab and vegeta, a knee, and two windows of two services in turns."""
    levels = {"wrk": "c64", "hey": "c64", "ab": "c16n1000", "vegeta": "r500"}
    alone = [entry(tool=tool, level=level, number=number) for number, (tool, level) in enumerate(levels.items(), 1)]
    alone.append(entry(tool="vegeta", level=KNEE, number=5))
    turns = block(1, ("aiohttp", "tornado"), windows=2)
    write_run(folder, [*alone, *turns], tables_in_turns=tables_of(turns))
    for line in alone:
        rate = RATE if line["level"] == KNEE else line["rate"]
        asked = line | {"rate": rate, "id": line["id"]}
        finish(folder, [asked], [rate or 4000])
        if line["level"] == KNEE:
            write_knee(folder, line, RATE, schema=1, p99_s=0.05, trials=[])
        _record(folder, one_step([line]))
    finish_block(folder, turns, {line["service"]: 4000 for line in turns})
    _record(folder, one_step(turns))
    facts = json.loads((folder / "run.json").read_text())
    facts["sha256"] = {"plan.jsonl": hashlib.sha256((folder / "plan.jsonl").read_bytes()).hexdigest()}
    (folder / "run.json").write_text(json.dumps(facts))
    return folder


def _record(folder: Path, step: Step) -> None:
    seen = read_finished(folder)
    assert seen is not None
    record_step(folder, step, seen)
    (folder / FILE).unlink()

"""The profiling windows of --profile: after a run's tables, their services are sampled under load, one by one.

The windows are not in plan.jsonl, because the verdicts decide which services of a large table are sampled.
RUN/profiles.jsonl has those that are left. A window's folder gets its final name once the window is complete. A window
that other programs kept from the CPU is repeated once.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from bench.analysis.profiles.sampled import cannot_sample, profiles_of, read_profile, sampled_services, windows_of
from bench.analysis.tables.judge import judge_tables
from bench.core.files import write_file
from bench.load.task import FILE as STEP
from bench.plan.measurement import Measurement, planned_of, step_folder, window_folder
from bench.plan.profile import FOLDER, UNDER_WAY
from bench.run.reader import read_run, read_service
from bench.schedule.finished import FILE as FINISHED
from bench.schedule.finished import read_finished, record_step
from bench.schedule.run_state import unverified
from bench.schedule.step_file import write_step
from bench.schedule.steps import Step
from bench.validity.run_records import reviewed, service_names
from driver.messages import Finished

QUEUE = "profiles.jsonl"
AGAIN = "again"
"""The key of a line whose window is being repeated, beside those of plan.jsonl."""


def begin(run: Path) -> list[str]:
    """Write the queue, with all windows that no earlier call has completed; returns the lines to print first.

    Windows without usable samples are repeated; their files are replaced when the new ones are complete.
    """
    (run / FINISHED).unlink(missing_ok=True)
    source = read_run(str(run))
    if not source.facts.profile:
        write_file(run / QUEUE, "")
        return []
    for folder in (run / FOLDER).glob(f"*{UNDER_WAY}"):
        shutil.rmtree(folder)
    services = {name: read_service(source.path, name) for name in service_names(source)}
    rankings = judge_tables(source.facts, reviewed(source, services))
    windows = [one for one in windows_of(source, rankings) if not unverified(run, [one.service])]
    found = (one for table in rankings for one in profiles_of(source, services, table) if not one.missing)
    usable = {(one.table, one.service) for one in found}
    left = [one for one in windows if (one.load, one.service) not in usable]
    made = (replace(one, dir=window_folder(step_folder(one.dir) + UNDER_WAY, one)) for one in left)
    write_file(run / QUEUE, "".join(f"{window.to_line()}\n" for window in made))
    named = dict.fromkeys(name for ranking in rankings for name in sampled_services(ranking))
    refused = (f"{name} is not sampled: {why}" for name in named if (why := cannot_sample(source.facts.service(name))))
    many = [f"sampling {len(left)} services under the load of their tables"] if left else []
    return [*refused, *many]


def next_window(run: Path) -> str:
    """Record the window that has ended, and write the next one to RUN/step.json; its label, empty if none is left."""
    queue = [json.loads(line) for line in (run / QUEUE).read_text().splitlines()]
    if queue and (seen := read_finished(run)) is not None:
        last = queue.pop(0)
        starved = _record(run, planned_of(last), seen)
        queue += [last | {AGAIN: True}] if starved and AGAIN not in last else []
        write_file(run / QUEUE, "".join(f"{json.dumps(line)}\n" for line in queue))
    if not queue:
        for name in (QUEUE, STEP):
            (run / name).unlink(missing_ok=True)
        return ""
    step = Step((planned_of(queue[0]),))
    shutil.rmtree(run / step.dir, ignore_errors=True)
    write_step(run, step)
    return step.label


def _record(run: Path, window: Measurement, seen: Finished) -> bool:
    """Record a window that has ended; whether other programs kept it from the CPU."""
    step = Step((window,))
    record_step(run, step, seen)
    whole = step.dir.removesuffix(UNDER_WAY)
    shutil.rmtree(run / whole, ignore_errors=True)
    (run / step.dir).rename(run / whole)
    (run / FINISHED).unlink()
    window = replace(window, dir=window_folder(whole, window))
    return read_profile(read_run(str(run)), window, read_service(str(run), window.service)).starved

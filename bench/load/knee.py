"""Runs the search for a knee: trials are saved under trials/NUMBER-RATE-SECONDS, the result in knee.json."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import as_object, mapping, read_bytes, write_file
from bench.core.formats import plain
from bench.load.answers import ask, is_good, ready_timeout_s
from bench.load.cpu_counters import SHARED, CpuCounters, cgroup_root, find_cgroups
from bench.load.failures import TOOL_FAILED, Failed
from bench.load.kernel_counters import ports_waiting
from bench.load.knee_search import LONGEST_S, SearchStep, first_rate, next_search_step, trial_seconds, trial_workers
from bench.load.save import last_words, publish, run_tool, save_reports
from bench.load.task import Task, deadline_of, pinned
from bench.load.turns import Turns, is_spoiled
from bench.records.knee import REQUESTS, Knee, Trial, read_knee, trial_of
from bench.run.facts import read_run_facts
from bench.tools import parse
from bench.tools.levels import knee_level
from bench.tools.send_lag import read_lag
from bench.tools.tool import OUTPUT
from bench.validity.run_rules import NULL, noise_limits_of

HOST_JSON = "host.json"
_TRIAL = re.compile(r"(\d+)-(\d+)-\d+\Z", re.ASCII)


def trials_of(folder: Path, redirects: Sequence[int] = ()) -> list[Trial]:
    """The trials in a measurement's folder, in order; `redirects` are right responses, too."""
    trials = []
    named = sorted(
        (int(found[1]), int(found[2]), path) for path in folder.glob("trials/*") if (found := _TRIAL.match(path.name))
    )
    for _, rate, path in named:
        output = read_bytes(f"{path}/output.json")
        parsed = None if output is None else parse("vegeta", output, redirects)
        lag = read_lag(as_object(read_bytes(f"{path}/lag.json") or b""))
        host = mapping(as_object(read_bytes(f"{path}/{HOST_JSON}") or b""))
        busy = busy if isinstance(busy := host.get("busy"), float) and busy > 0 else None
        trials.append(replace(trial_of(rate, parsed, lag, output or b""), noise=host.get("noise") is True, busy=busy))
    return trials


def _saved(path: Path) -> Knee | None:
    return read_knee(as_object(read_bytes(str(path)) or b""))


def earlier_knee(folder: Path) -> tuple[str, Knee] | None:
    """(round, knee) of the first earlier round that found this cell's knee; `folder` is that of its measurement."""
    own, _, scenario, cell, _, service = folder.parts[-6:]
    found = _searches(Path(*folder.parts[:-6]), f"{scenario}/{cell}/w1/{service}")
    return next(((path.parts[-7], knee) for path, knee in found if path.parts[-7] < own), None)


def _searches(raw: Path, cells: str) -> Iterator[tuple[Path, Knee]]:
    """The knees that were found in these cells by round, except in steps that were set aside."""
    for path in sorted(raw.glob(f"r*/*/{cells}/knee.json")):
        if "." not in path.parts[-6] and (knee := _saved(path)) and knee.found_here:
            yield path, knee


def slowest_knee(raw: Path, scenario: str, limit_s: float) -> tuple[str, str, int]:
    """(round, service, knee) of the lowest knee in a run's raw files; UserError if none was found."""
    knees: dict[str, tuple[str, str, int]] = {}
    for path, knee in _searches(raw, f"{scenario}/vegeta-{knee_level(limit_s)}/w1/*"):
        service = path.parts[-2]
        knees.setdefault(service, (path.parts[-7], service, knee.rate))
    if not knees:
        raise UserError(f"this level is a share of a knee, but none of {scenario} was found in this run")
    return min(knees.values(), key=lambda knee: knee[2])


KNEE_JSON, TRIALS = "knee.json", "trials"
PAUSE_S = 0.5
MOST_PORTS = 4000
"""With more connections in TIME_WAIT, the kernel's search for a free port slows down the load."""
PORTS_S = 70.0
"""Timeout for these connections to end; TIME_WAIT lasts 60 s."""


def search_knee(task: Task, warmed: float | None = None) -> None:
    """Run trials until the knee is found; `warmed` is the number of responses per second in the warm-up."""
    folder = task.folder
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / TRIALS, ignore_errors=True)
    (folder / KNEE_JSON).unlink(missing_ok=True)
    task.write_body()
    task = replace(task, load=pinned(task.load))
    # The null server answers far more requests than this tool can send.
    first = None if task.planned.service == NULL else first_rate(warmed)
    number, host = 0, _Host(Path(*folder.parts[:-7]), task.planned.service)
    while trial := next_trial(task, first):
        number += 1
        name = f"{number:02}-{plain(trial.load.rate)}-{plain(trial.load.duration_s)}"
        _try_rate(replace(trial, folder=folder / TRIALS / name), host)


class _Host:
    """Other activity on the machine during a trial."""

    def __init__(self, run: Path, service: str) -> None:
        self._names, self._limits = (service, *SHARED), noise_limits_of(read_run_facts(run).knobs)
        self._counters = CpuCounters(find_cgroups(self._names, cgroup_root()))
        self._began, self._before = time.monotonic_ns(), self._counters.read(*self._names)

    def begin(self) -> None:
        """Start a new interval."""
        self._began, self._before = time.monotonic_ns(), self._counters.read(*self._names)

    def told(self) -> dict[str, Any]:
        """The facts about the interval so far.

        - `noise`: whether other programs or the hypervisor took more than the limits allow; False if unknown.
        - `busy`: share of its CPUs that the load generator used; None if unknown or the interval is below a second.
        """
        turns, after = Turns(), self._counters.read(*self._names)
        turns.add((self._began, now := time.monotonic_ns(), now), self._before, after, cut=False)
        known = self._names[0] in turns.cpu_ns
        used_ns, cpus = turns.cpu_ns.get("loadgen"), len(os.sched_getaffinity(0))
        return {
            "noise": known and is_spoiled([turns], self._limits, self._counters.host_cpus),
            "busy": None if used_ns is None or turns.load_ns < 1e9 else round(used_ns / turns.load_ns / cpus, 4),
        }


def next_trial(task: Task, first: int | None = None) -> Task | None:
    """The next trial, given those in the task's folder; None once knee.json is written.

    A knee found in an earlier round is reused. If the level is a share of the knee, there is no search: the rate is
    that share of the lowest knee of all services in this run and scenario.
    """
    folder, limit_s, share = task.folder, task.planned.knee_p99_s or 0.0, task.planned.knee_share
    trials, found_in = trials_of(folder, task.planned.exchange.redirects), None
    if share is not None:
        try:
            number, service, least = slowest_knee(Path(*folder.parts[:-6]), folder.parts[-4], limit_s)
        except UserError as error:
            raise Failed(TOOL_FAILED, str(error)) from error
        found_in = f"{number} {service}"
        rate = max(1, math.floor(share * least))
        step = SearchStep(rate, min(LONGEST_S, math.ceil(REQUESTS / rate)), done=True)
    elif not trials and (earlier := earlier_knee(folder)):
        found_in, knee = earlier
        step = SearchStep(knee.rate, trial_seconds(knee.rate, limit_s), done=True, ended_by=knee.ended_by)
    else:
        step = next_search_step(trials, limit_s, first, task.knee_ceiling)
    if not step.done:
        return at_rate(task, step.rate, step.seconds, trial_workers(step.rate, step.seconds, limit_s))
    seconds = max(step.seconds, math.ceil(task.planned.duration_s or 0.0))
    facts: dict[str, Any] = {"schema": 1, "p99_s": limit_s, "share": share, "rate": step.rate, "seconds": seconds}
    facts |= {"reason": step.reason, "found_in": found_in, "ended_by": step.ended_by}
    facts["trials"] = [asdict(trial) | {"faults": trial.faults(limit_s)} for trial in trials]
    write_file(folder / KNEE_JSON, json.dumps(facts) + "\n")
    return None


def at_rate(task: Task, rate: float, seconds: float, most_workers: int | None = None) -> Task:
    """The task at a rate and duration; its deadline is adjusted to the duration."""
    load = replace(task.load, rate=rate, duration_s=seconds, most_workers=most_workers)
    return replace(task, load=load, deadline_s=deadline_of(load))


def at_knee(task: Task) -> Task:
    """The task at the knee that was found; Failed if there is none."""
    if not (saved := _saved(task.folder / KNEE_JSON)):
        raise Failed(TOOL_FAILED, f"no rate was found for {task.folder}")
    return at_rate(task, saved.rate, saved.seconds)


def first_trial(task: Task) -> Task:
    """The first trial of a search, without side effects: in a folder that does not exist, no trials are found."""
    search = replace(task.planned, knee_share=None)
    trial = next_trial(replace(task, planned=search, folder=Path("/none/round/step/scenario/level/w1/service")))
    if trial is None:
        raise Failed(TOOL_FAILED, "the search for a knee has no first trial")
    return replace(trial, folder=task.folder)


def _try_rate(trial: Task, host: _Host) -> None:
    """Run one trial, then wait until the service has processed its queue and ports are free for the next trial."""
    name, rate = trial.tool.name, plain(trial.load.rate)
    command = trial.command()
    trial.folder.mkdir(parents=True, exist_ok=True)
    status = run_tool(trial, command, host.begin)
    write_file(trial.folder / HOST_JSON, json.dumps(host.told()) + "\n")
    saved, full = save_reports(trial)
    publish(trial.folder)
    if full:
        raise Failed(TOOL_FAILED, f"{full}, in a trial of {rate}/s")
    if status:
        raise Failed(TOOL_FAILED, f"{name} ended with status {status} in a trial of {rate}/s")
    if not saved:
        words = f"the reports of {name} could not be saved in a trial of {rate}/s"
        raise Failed(TOOL_FAILED, f"{words}: {last_words(trial.folder / OUTPUT)}")
    give_up = time.monotonic() + float(ready_timeout_s())
    while not is_good(trial.load, response := ask(trial)):
        if time.monotonic() >= give_up:
            words = f"no good answer after a trial of {rate}/s: {response.status} {response.error}"
            raise Failed(TOOL_FAILED, words)
        time.sleep(0.1)
    time.sleep(PAUSE_S)
    give_up = time.monotonic() + PORTS_S
    while ports_waiting() > MOST_PORTS and time.monotonic() < give_up:
        time.sleep(PAUSE_S)

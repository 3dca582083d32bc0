"""Measures one step: fresh containers, first answers, load, counters before and after; finished.json comes last.

A step has one service alone, or several that are loaded in turns. `bench turns` writes which of those failed and why.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import time_ns
from typing import Any

from driver.docker import DockerError
from driver.engines.engine import Engine, Started, State, engine_of
from driver.failure import RUN, USER, Failure
from driver.files import save, save_json, text_of
from driver.lifecycle.writer import need_room
from driver.messages import FINISHED, STEP, Finished, Step, as_json, read, step_of
from driver.nodes.node import nodes_of, read_lanes
from driver.run import Run, open_run

DID_NOT_START = 10
"""The load generator's exit status for a service that gave no answer."""
Sampling = Callable[[Engine, str, Path], "AbstractContextManager[None]"]
"""A context manager around the load, from the service and the step's folder."""


def main(argv: list[str]) -> int:
    """`measure RUN`: the step that `next` has chosen, or one on each pair of nodes."""
    run = open_run(argv[0])
    if read_lanes(run):
        from driver.nodes.setup import measure_wave

        measure_wave(run)
    else:
        measure_step(engine_of(run))
    return 0


def measure_step(engine: Engine, sampling: Sampling = lambda *_: nullcontext()) -> Finished:
    """Measures the step in step.json. Writes finished.json last, from which the planner records the step."""
    run = engine.run
    need_room(run, RUN)
    step = read_step(run)
    (run.folder / step.dir).mkdir(parents=True, exist_ok=True)
    kind: type[_Made] = _Turns if step.mode == "turns" else _Alone
    try:
        engine.revive()
        begin_ns = time_ns()
        seen = kind(engine, step, sampling).measure()
        ended = engine.ended()
        end_ns = time_ns()
    except DockerError:
        engine.check(step_failed=True)
        raise
    engine.check()
    nodes = nodes_of(run)
    node = nodes["server"].name if nodes else ""
    finished = Finished(step.id, begin_ns, end_ns, ended_dependencies=ended, node=node, **seen)
    save_json(run.lane_folder / FINISHED, as_json(finished))
    return finished


def read_step(run: Run) -> Step:
    """The next step of a run or lane."""
    file = run.lane_folder / STEP
    data = read(file)
    if data is None:
        raise Failure(USER, f"{file} is missing: nothing is to be measured")
    return step_of(data.get("host") or {})


@dataclass
class _Made(ABC):
    """A step while it is made."""

    engine: Engine
    step: Step
    sampling: Sampling
    statuses: dict[str, int] = field(default_factory=dict)
    started: Started = field(default_factory=Started)
    unreached: tuple[str, ...] = ()

    def measure(self) -> dict[str, Any]:
        """Measures the step; returns fields of `Finished`."""
        ours = any(service not in self.run.host.targets for service in self.step.services)
        # The load generators are new too, as connections of the last load in TIME_WAIT would use up their ports.
        loadgens = max(1, len(self.step.clients)) if ours else 0
        self.started = self.engine.start(
            self.step.services, loadgens=loadgens, any_cpu=self.any_cpu, host_network=self.step.host_network
        )
        self.statuses["start"] = 0 if self.started.up else 1
        if self.started.up and self.ready():
            self.save_states("before")
            self.load()
            self.save_states("after")
        seen = self.at_the_end()
        self.engine.stop(self.step.services)
        return {"statuses": self.statuses, "unreached": self.unreached, **seen}

    any_cpu = False

    @abstractmethod
    def ready(self) -> bool:
        """Waits for first answers; whether there is anything to load."""

    @abstractmethod
    def load(self) -> None:
        """Loads what is ready."""

    @abstractmethod
    def save_states(self, when: str) -> None:
        """Saves counters and states."""

    @abstractmethod
    def at_the_end(self) -> dict[str, Any]:
        """Looks at the containers after the load, and saves logs of those that ended."""

    @property
    def run(self) -> Run:
        return self.engine.run

    @property
    def folder(self) -> Path:
        return self.run.folder / self.step.dir

    def in_loadgen(self, what: str, log: str, *words: str) -> int:
        """Runs a command in the load generator, keeps its status, and logs its output in the step's folder."""
        done = self.engine.in_loadgen([*words, f"results/{self.run.name}"], log=self.folder / log, folder=self.step.dir)
        self.statuses[what] = done.status
        return done.status

    def note_unreached(self, services: Sequence[str]) -> None:
        """Of services that did not answer, notes those that do on their own machine: the step is then repeated."""
        self.unreached = tuple(service for service in services if self.engine.answers_at_home(service))

    def save_log(self, service: str, file: Path) -> None:
        try:
            save(file, self.engine.log(service))
        except DockerError as error:
            save(file, f"{error}\n")


class _Alone(_Made):
    @property
    def service(self) -> str:
        return self.step.services[0]

    def ready(self) -> bool:
        status = self.in_loadgen("prepare", "prepare.txt", "loadgen/measure", "prepare")
        if status == DID_NOT_START:
            self.note_unreached([self.service])
        if status:
            self._save_last_state()
        return not status

    def load(self) -> None:
        with self.sampling(self.engine, self.service, self.folder):
            if self.step.clients:
                from driver.steps.clients import load_by_clients

                self.statuses["run"] = load_by_clients(self.engine, self.step)
            else:
                self.in_loadgen("run", "run.txt", "loadgen/measure", "run")

    def save_states(self, when: str) -> None:
        engine = self.engine
        for name in self.run.own_services:
            save(self.folder / f"{name}.{when}", engine.state_lines(name))
        for name, service in (("server", self.service), ("database", "postgres"), ("upstream", "upstream")):
            save(self.folder / f"{name}.{when}", engine.state_lines(service))

    def at_the_end(self) -> dict[str, Any]:
        if self.step.clients and self.statuses.get("run") == 0:
            from driver.steps.clients import merge_clients

            self.statuses["run"] = merge_clients(self.engine, self.step)
        loaded_ns, alive = time_ns(), self.engine.is_running(self.service)
        if any(self.statuses.values()) or not alive:
            self.save_log(self.service, self.folder / "server.log")
        return {
            "image_id": self.started.image_id.get(self.service, ""),
            "started_ns": self.started.started_ns.get(self.service),
            "loaded_ns": loaded_ns,
            "alive": alive,
        }

    def _save_last_state(self) -> None:
        """The counters tell whether it ran out of memory in its warm-up; the container may be gone."""
        try:
            save(self.folder / "server.after", self.engine.state_lines(self.service))
        except DockerError:
            return


class _Turns(_Made):
    any_cpu = True

    @property
    def services(self) -> Path:
        return self.folder / "services"

    def ready(self) -> bool:
        self._leave_out_lost()
        if self._turns("ready"):
            return False
        silent = str(DID_NOT_START)
        files = sorted(self.services.glob("*.status"))
        self.note_unreached([file.stem for file in files if (text_of(file) or "").strip() == silent])
        self.engine.pin(self.started.up)
        return True

    def load(self) -> None:
        with self.engine.freezer(self.started.up):
            self._turns("load")

    def save_states(self, when: str) -> None:
        found = self.engine.look(self.started.up)
        for name in self.started.up:
            state = found.get(name, State(running=False))
            save(self.services / f"{name}.{when}", self.engine.state_lines(name, state))

    def at_the_end(self) -> dict[str, Any]:
        up = self.started.up
        found = self.engine.look(up) if up else {}
        ended = tuple(name for name in up if name not in found or not found[name].running)
        for name in ended:
            self.save_log(name, self.services / f"{name}.log")
        return {"ended": ended}

    def _leave_out_lost(self) -> None:
        """Marks services whose container did not start, so that `bench turns` does not wait for them."""
        self.services.mkdir(exist_ok=True)
        for name in self.step.services:
            if name not in self.started.up:
                shutil.copyfile(self.engine.start_log(name), self.services / f"{name}.txt")
                (self.services / f"{name}.status").write_text(f"{DID_NOT_START}\n")

    def _turns(self, verb: str) -> int:
        """Runs `bench turns VERB`; its status."""
        seed = f"SEED={self.run.setting('SEED')}"
        return self.in_loadgen(verb, "turns.txt", "env", seed, "python3", "-m", "bench", "turns", verb)

"""Measures a step: fresh containers, first answers, load, counters before and after; finished.json comes last.

A step has one service alone, several whose loads take turns, or several that are each under an event. All are measured
in the same way. `loadgen/measure` reports on each service in RAW/services: SERVICE.status has an exit status, and
SERVICE.txt the messages.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from time import time_ns
from typing import cast

from driver.docker import DockerError, Done
from driver.engines.engine import Container, Engine
from driver.engines.local import LocalDocker
from driver.failure import RUN, USER, Failure
from driver.files import save, save_json, text_of
from driver.lifecycle.writer import need_room
from driver.messages import ABSENT, FINISHED, STEP, Finished, Step, as_json, read, step_of
from driver.nodes.node import nodes_of
from driver.run import Run
from driver.services.own_app import renew_own_services
from driver.steps.events import Dependencies, acting, cannot
from driver.steps.next import next_step, start_planner

DID_NOT_START = 10
"""The load generator's exit status for a service that gave no answer."""
REPLACED = f"null the app's own Compose file replaces it\n{ABSENT} yes\n"
"""The counters of a database or upstream that the run lacks."""
Sampling = Callable[[Engine, str, Path], "AbstractContextManager[None]"]
"""Makes a context manager around the load, from the service and the folder of its measurement."""


def measure_and_choose(engine: Engine, max_time_s: str = "") -> int:
    """Measures the step in step.json and chooses the next one; the exit status is that of `next_step`."""
    started: list[Callable[[str], Done]] = []
    measure_step(engine, behind=lambda: started.append(start_planner(engine)))
    return next_step(engine, max_time_s, *started)


def measure_step(
    engine: Engine, sampling: Sampling = lambda *_: nullcontext(), behind: Callable[[], None] = lambda: None
) -> Finished:
    """Measures the step in step.json. Writes finished.json last, from which the planner records the step.

    `behind` is called after loads and counters, before the step's containers are removed.
    """
    run = engine.run
    need_room(run, RUN)
    step = read_step(run)
    for folder in (f"{step.dir}/services", *(() if step.held else step.folders)):
        (run.folder / folder).mkdir(parents=True, exist_ok=True)
    try:
        restore(engine)
        finished = _Measuring(engine, step, sampling, behind).measure()
    except DockerError:
        engine.check(step_failed=True)
        raise
    engine.check()
    save_json(run.lane_folder / FINISHED, as_json(finished))
    return finished


def restore(engine: Engine) -> None:
    """Has what the last loads wrote undone, so that each step begins with the same data."""
    own_services, app = engine.run.own_services, engine.run.own_app
    if own_services and app and app.writes:
        renew_own_services(engine)
    # Also looks up the processes of what is new.
    if any(name in own_services for name in engine.revive()):
        renew_own_services(engine)
        engine.revive()
    engine.restore()


def read_step(run: Run) -> Step:
    """The next step of a run or lane."""
    file = run.lane_folder / STEP
    if (data := read(file)) is None:
        raise Failure(USER, f"{file} is missing: nothing is to be measured")
    return step_of(data)


@dataclass
class _Measuring:
    """A step that is being measured."""

    engine: Engine
    step: Step
    sampling: Sampling
    behind: Callable[[], None]
    statuses: dict[str, int] = field(default_factory=dict)
    started: Mapping[str, Container] = field(default_factory=dict)
    up: list[str] = field(default_factory=list)

    def measure(self) -> Finished:
        engine, step, begin_ns = self.engine, self.step, time_ns()
        if step.events and engine.cannot_act:
            for folder in step.folders:
                cannot(engine, self.run.folder / folder)
            return Finished(step.id, begin_ns, end_ns=time_ns(), statuses={"run": 0})
        ours = any(service not in self.run.targets for service in step.services)
        # The load generator is new too: connections of the last load in TIME_WAIT would use up its ports.
        self.started = engine.start(step, loadgen=ours)
        self._check_images()
        unreached = tuple[str, ...]()
        self.statuses["start"] = 0 if self.started else 1
        if self.started:
            self.up = [name for name in self.started if self._doubled(name)]
            self._leave_out_lost()
            prepared = self._in_loadgen("prepare")
            silent = [name for name in self.up if self._status(name) == DID_NOT_START]
            unreached = tuple(name for name in silent if engine.answers_at_home(name))
            if prepared == 0:
                if step.any_cpu:
                    engine.pin(self.up)
                self._save_states("before")
                self._load()
            # Also without a load: the counters tell whether a service ran out of memory in its warm-up.
            self._save_states("after")
        loaded_ns = time_ns()
        self.behind()
        ended = self._ended()
        engine.stop(step.services)
        nodes = nodes_of(self.run)
        # Targets and the containers of `docker-compose up` have no image that is known.
        fresh = {name: container for name, container in self.started.items() if container.image_id}
        return Finished(
            step.id,
            begin_ns,
            ended_dependencies=engine.ended(),
            end_ns=time_ns(),
            statuses=self.statuses,
            image_ids={name: container.image_id for name, container in fresh.items()},
            started_ns={name: container.started_ns for name, container in fresh.items()},
            loaded_ns=loaded_ns,
            ended=ended,
            unreached=unreached,
            node=nodes["server"].name if nodes else "",
        )

    @property
    def run(self) -> Run:
        return self.engine.run

    @property
    def folder(self) -> Path:
        return self.run.folder / self.step.dir

    @property
    def services(self) -> Path:
        return self.folder / "services"

    def _check_images(self) -> None:
        """Failure if another build has replaced an image since the run began: its records would be of two images."""
        for name, container in self.started.items():
            service = self.step.copies.get(name, name)
            known = (text_of(self.run.service_folder(service) / "image.id") or "").strip()
            if known and container.image_id not in ("", known):
                self.engine.stop(self.step.services)
                words = f"the image of {service} has changed since {self.run.name} began: another build has replaced it"
                raise Failure(USER, f"{words}; start a new run")

    def _doubled(self, name: str) -> bool:
        """Starts a second container if the event needs one; whether the service has as many as it needs."""
        event = self.step.events.get(name)
        if event and event.containers > 1:
            try:
                cast(LocalDocker, self.engine).double(name)
            except DockerError as error:
                save(self.engine.start_log(name), f"{error}\n")
                return False
        return True

    def _leave_out_lost(self) -> None:
        """Marks services whose container did not start, so that the load generator does not wait for them."""
        for name in self.step.services:
            if name not in self.up:
                shutil.copyfile(self.engine.start_log(name), self.services / f"{name}.txt")
                (self.services / f"{name}.status").write_text(f"{DID_NOT_START}\n")

    def _status(self, service: str) -> int | None:
        text = (text_of(self.services / f"{service}.status") or "").strip()
        return int(text) if text.isdecimal() else None

    def _load(self) -> None:
        """Loads the services that have answered."""
        step = self.step
        with ExitStack() as stack:
            if step.held:
                stack.enter_context(self.engine.freezer(self.up))
            elif step.events:
                # Any other engine has said why not by `cannot_act`, and does not get here.
                shared = Dependencies(cast(LocalDocker, self.engine))
                for name, folder in zip(step.services, step.folders):
                    stack.enter_context(acting(shared, name, step.events[name], self.run.folder / folder))
            else:
                stack.enter_context(self.sampling(self.engine, step.services[0], self.run.folder / step.folders[0]))
            self._in_loadgen("run")

    def _in_loadgen(self, verb: str) -> int:
        """Lets the load generator prepare or run the step; saves its status, and its output in the step's folder."""
        words = ("loadgen/measure", verb, f"results/{self.run.name}")
        done = self.engine.in_loadgen(words, log=self.folder / f"{verb}.txt", folder=self.step.dir)
        self.statuses[verb] = done.status
        return done.status

    def _save_states(self, when: str) -> None:
        """Saves counters and states of the services, and counters of their dependencies."""
        containers = self.engine.look(self.up)
        for name in self.up:
            lines = self.engine.state_lines(name, containers.get(name, Container(running=False)))
            save(self.services / f"{name}.{when}", lines)
        for name in (*self.run.own_services, "postgres", "upstream"):
            lines = self.engine.state_lines(name) if name in self.run.dependencies else REPLACED
            save(self.services / f"{name}.{when}", lines)

    def _ended(self) -> tuple[str, ...]:
        """The services that have ended. Saves their logs, and logs of services whose load failed."""
        containers = self.engine.look(self.up) if self.up else {}
        ended = tuple(name for name in self.up if name not in containers or not containers[name].running)
        whole = any(self.statuses.values())
        for name in (name for name in self.up if whole or name in ended or (self.step.events and self._status(name))):
            try:
                save(self.services / f"{name}.log", self.engine.log(name))
            except DockerError as error:
                save(self.services / f"{name}.log", f"{error}\n")
        return ended

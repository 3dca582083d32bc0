"""Replacing a container: the order of calls to the proxy and the engine, and what is recorded."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pretend_engine import NotingEngine, PretendEngine, made_run
from waiting import until

from driver.engines.engine import Container, End
from driver.messages import BEGUN, PROXY_ASKED, PROXY_TOLD, Action, EventScript
from driver.processes import Processes
from driver.steps import rolling
from driver.steps.events import EVENTS, Dependencies, acting


class Swapping(PretendEngine):
    """An engine on which each start of a container has a new process."""

    cannot_act = ""

    def __init__(self, root: Path) -> None:
        super().__init__(made_run(root, "a"))
        self.pids = {1: 10, 2: 20}
        self.code = 0

    def processes(self, service: str) -> Processes:
        return Processes(2, (3, 4))

    def container_facts(self, service: str, number: int) -> Container:
        return Container(True, address=f"198.18.0.{number}:8080", pid=self.pids[number])

    def stop_container(self, service: str, number: int, grace_s: float, every_process: bool) -> End:
        self._note("stop", str(number), f"{grace_s:g} s", *["every"] * every_process)
        return End(time.time_ns(), self.code)

    def start_container(self, service: str, number: int) -> None:
        self._note("start", str(number))
        self.pids[number] += 1


@contextmanager
def proxy(engine: NotingEngine, folder: Path, *deaf_to: str) -> Iterator[None]:
    """A load generator that does what it is asked, and confirms it unless deaf to that."""
    over, done = threading.Event(), [""]

    def obey() -> None:
        while not over.wait(0.005):
            asked = (folder / PROXY_ASKED).read_text() if (folder / PROXY_ASKED).exists() else ""
            if asked not in done:
                done.append(asked)
                _, verb, server = asked.split()
                engine._note(verb, server)
                if verb not in deaf_to:
                    (folder / PROXY_TOLD).write_text(asked)

    thread = threading.Thread(target=obey)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def swapped(engine: Swapping, root: Path, action: Action, *deaf_to: str) -> dict[str, Any]:
    """What is recorded of the action, beside such a load generator."""
    folder = root / "raw"
    folder.mkdir()
    with proxy(engine, folder, *deaf_to):
        return rolling.swap(engine, "a", action, folder, time.monotonic_ns)


def test_a_container_is_stopped_started_and_waited_for(tmp_path: Path) -> None:
    engine = Swapping(tmp_path)
    told = swapped(engine, tmp_path, Action(0.0, "swap", "TERM", "2"))
    assert engine.calls() == ["stop 2 10 s", "start 2", "answers 198.18.0.2:8080"]
    assert (told["what"], told["pid"], told["pid_after"], told["error"]) == ("SIGTERM to container 2", 20, 21, "")
    assert 0 <= told["exit_ns"] <= told["took_ns"] and told["exit_code"] == 0


def test_before_that_it_is_out_of_the_proxy_and_afterwards_back(tmp_path: Path) -> None:
    engine, begun = Swapping(tmp_path), time.monotonic_ns()
    told = swapped(engine, tmp_path, Action(0.0, "swap", "TERM", "1", 0.2, 30.0))
    at = "198.18.0.1:8080"
    assert engine.calls() == [f"out {at}", "stop 1 30 s", "start 1", f"answers {at}", f"back {at}"]
    assert told["at_ns"] - begun >= 2e8


def test_every_process_is_told_to_end_at_the_time_that_the_engine_says(tmp_path: Path) -> None:
    class Telling(Swapping):
        def stop_container(self, service: str, number: int, grace_s: float, every_process: bool) -> End:
            end = super().stop_container(service, number, grace_s, every_process)
            return End(end.at_ns, end.code, (end.at_ns or 0) - 5_000_000)

    engine = Telling(tmp_path)
    told = swapped(engine, tmp_path, Action(0.0, "swap", "TERM", "1", grace_s=90.0, every_process=True))
    assert engine.calls("stop") == ["stop 1 90 s every"]
    assert (told["what"], told["exit_ns"]) == ("SIGTERM to every process of container 1", 5_000_000)


def test_one_that_does_not_come_back_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "ANSWERS_S", 0.1)
    told = swapped(Swapping(tmp_path), tmp_path, Action(0.0, "swap", "TERM", "1"), "answers")
    assert told["error"] == "the container gave no answer within 0.1 s" and told["pid_after"] == 11


def test_both_are_replaced_one_after_the_other_and_then_the_load_may_end(tmp_path: Path) -> None:
    engine, folder = Swapping(tmp_path), tmp_path / "raw"
    folder.mkdir()
    actions = tuple(Action(0.0, "swap", "TERM", number) for number in ("1", "2"))
    with proxy(engine, folder), acting(Dependencies(engine), "a", EventScript(actions, "rolled"), folder):
        (folder / BEGUN).write_text(f"{time.monotonic_ns()} {time.time_ns()}\n")
        until((folder / ".enough").exists)
    told = json.loads((folder / EVENTS).read_text())
    assert [one["pid_after"] for one in told["actions"]] == [11, 21] and told["until_ns"] is not None
    assert engine.calls("stop", "start") == ["stop 1 10 s", "start 1", "stop 2 10 s", "start 2"]
    assert not (folder / PROXY_ASKED).exists() and not (folder / PROXY_TOLD).exists()

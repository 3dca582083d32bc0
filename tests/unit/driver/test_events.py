"""An event: which process gets which signal when, what is observed, and the files of an engine that cannot act."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loop_engine import LoopEngine, loop, outcomes
from loop_runs import in_step, make_loop, solo
from pretend_engine import PretendEngine, made_run
from waiting import until

from bench.core.typed import as_plain
from bench.plan.event import Event, Phase
from bench.plan.events import EVENTS as EVENTS_OF_PLAN
from bench.records.event import Ended
from bench.records.make_event import event_records
from bench.run.reader import read_run
from driver.docker import DockerError
from driver.messages import BEGUN, ENOUGH, Action, EventScript, Step, as_json, step_of
from driver.processes import Processes, all_pids, processes_of
from driver.steps.events import EVENTS, Dependencies, acting

NO_IMAGE = "no such image: aiohttp-py313-debian"
HUP = Action(3.0, "signal", "HUP", "main")
RELOAD = EventScript((Action(0.0, "signal", "HUP", "main"),), "swapped")
LOOKS = 10
"""If a signal has no effect, the load ends after the processes were checked this often."""


class Acting(PretendEngine):
    """An engine whose workers change when a signal arrives, according to a script."""

    def __init__(self, root: Path, after: Callable[[str, int], Processes | None]) -> None:
        super().__init__(made_run(root, "a"))
        self.now, self.after, self.sent = Processes(2, (3, 4)), after, list[tuple[str, int]]()
        self.looks, self.later = 0, dict[int, Callable[[], None]]()

    cannot_act = ""
    wall_ns, takes_s = 0, 0.0
    """When the signal was sent, if the engine knows that, and how long its command takes before that."""

    def processes(self, service: str) -> Processes:
        self.looks += bool(self.sent)
        self.later.get(self.looks, lambda: None)()
        return self.now

    def usage(self, service: str) -> tuple[int | None, int | None]:
        return 10**9, 5 << 20

    def oom_kills(self, service: str) -> int | None:
        return 2

    def signal(self, service: str, signal: str, pid: int) -> int | None:
        self.sent.append((signal, pid))
        if (found := self.after(signal, pid)) is None:
            raise DockerError("no such process")
        self.now = found
        time.sleep(self.takes_s)
        known, self.wall_ns = self.wall_ns, time.time_ns()
        return self.wall_ns if known else None


def happened(engine: Acting, event: EventScript, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """events.json of a load that begins at once, and ends when it may or when the action has no effect."""
    folder = engine.run.folder / "raw/r01/0001/a"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "capacity.json").write_text(json.dumps({"told": [], **(told or {})}))
    with acting(Dependencies(engine), "a", event, folder):
        (folder / BEGUN).write_text(f"{time.monotonic_ns()} {time.time_ns()}\n")
        until(lambda: (folder / ENOUGH).exists() or engine.looks >= LOOKS)
        engine.run.folder.joinpath("ended-early").write_text(str((folder / ENOUGH).exists()))
    assert not (folder / BEGUN).exists() and not (folder / ENOUGH).exists()
    found: dict[str, Any] = json.loads((folder / EVENTS).read_text())
    return found


def ended_early(engine: Acting) -> bool:
    return (engine.run.folder / "ended-early").read_text() == "True"


def test_a_reload_goes_to_the_main_process_and_is_over_once_every_worker_is_another(tmp_path: Path) -> None:
    engine = Acting(tmp_path, lambda *_: Processes(2, (5, 6)))
    told = happened(engine, EventScript((Action(0.1, "signal", "HUP", "main"),), "swapped"))
    assert engine.sent == [("HUP", 2)] and ended_early(engine)
    assert [told[name] for name in ("main", "before", "same_clock", "error")] == [2, [3, 4], True, ""]
    assert [pids for _, pids in told["workers"]] == [[3, 4], [5, 6]]
    (action,) = told["actions"]
    assert (action["what"], action["pid"], action["error"]) == ("SIGHUP to the main process", 2, "")
    assert 1e8 <= action["at_ns"] <= told["until_ns"] and told["samples"][0][1:] == [10**9, 5 << 20]
    assert told["oom_kills"] == 2


@pytest.mark.parametrize("known", [False, True])
def test_a_signal_counts_from_when_it_was_sent_where_that_is_known(tmp_path: Path, known: bool) -> None:
    engine = Acting(tmp_path, lambda *_: Processes(2, (5, 6)))
    engine.wall_ns, engine.takes_s = int(known), 0.2
    (action,) = happened(engine, RELOAD)["actions"]
    assert (action["took_ns"] == 0) == known and (action["wall_ns"] == engine.wall_ns) == known
    assert (action["at_ns"] >= 2e8) or (not known and action["took_ns"] >= 2e8)


def test_reload_is_repeated_and_descriptors_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driver.steps.events.QUIET_S", 0.01)
    pids = iter(range(5, 100))

    class Counting(Acting):
        def descriptors(self, service: str) -> int | None:
            self.looks = 0
            return 30 + 2 * len(self.sent) + next(noise)

    noise = iter([1, 0] * 50)
    engine = Counting(tmp_path, lambda *_: Processes(2, (next(pids), next(pids))))
    told = happened(engine, replace(RELOAD, repeats=3))
    assert engine.sent == [("HUP", 2)] * 3 and len(told["actions"]) == 3 and ended_early(engine)
    assert [count for _, count in told["descriptors"]] == [30, 32, 34, 36]
    assert told["until_ns"] >= told["descriptors"][-1][0]


@pytest.mark.parametrize(("back", "given_up"), [((3, 4), True), ((4, 6), False), ((3,), False)])
def test_a_reload_is_given_up_once_new_workers_have_gone_and_all_old_ones_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, back: tuple[int, ...], given_up: bool
) -> None:
    monkeypatch.setattr("driver.steps.events.GIVEN_UP_S", 0.1)
    engine = Acting(tmp_path, lambda *_: Processes(2, (3, 4, 6)))
    engine.later[3] = lambda: setattr(engine, "now", Processes(2, back))
    told = happened(engine, RELOAD)
    assert told["until_ns"] is None and told["ended_ns"] is None and ended_early(engine) == given_up


def test_a_reload_without_any_new_worker_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driver.steps.events.GIVEN_UP_S", 0.1)
    engine = Acting(tmp_path, lambda *_: Processes(2, (3, 4)))
    happened(engine, RELOAD)
    assert not ended_early(engine)


def test_a_worker_is_killed_and_the_load_goes_on_until_as_many_work_again(tmp_path: Path) -> None:
    engine = Acting(tmp_path, lambda *_: Processes(2, (4,)))
    event = EventScript((Action(0.0, "signal", "KILL", "worker"),), "restored")
    engine.later[5] = lambda: setattr(engine, "now", Processes(2, (4, 9)))
    told = happened(engine, event)
    assert engine.sent == [("KILL", 3)] and ended_early(engine)
    assert [pids for _, pids in told["workers"]] == [[3, 4], [4], [4, 9]]


def test_a_main_process_without_workers_is_none_itself(tmp_path: Path) -> None:
    engine = Acting(tmp_path, lambda *_: Processes(2, (2,)))
    engine.now = Processes(2, (3,))
    engine.later[5] = lambda: setattr(engine, "now", Processes(2, (9,)))
    told = happened(engine, EventScript((Action(0.0, "signal", "KILL", "worker"),), "restored"))
    assert [pids for _, pids in told["workers"]] == [[3], [], [9]] and ended_early(engine)


def test_a_service_that_ends_whole_is_seen_to_end(tmp_path: Path) -> None:
    engine = Acting(tmp_path, lambda *_: Processes(0, ()))
    told = happened(engine, EventScript((Action(0.0, "stop", "TERM", "main"),), "ended"))
    assert told["ended_ns"] is not None and told["until_ns"] is not None


def test_a_signal_that_does_not_arrive_is_said(tmp_path: Path) -> None:
    engine = Acting(tmp_path, lambda *_: None)
    told = happened(engine, RELOAD)
    assert told["actions"][0]["error"] == "no such process" and told["until_ns"] is None


def test_a_process_that_answers_nobody_is_no_worker_where_the_others_told_themselves(tmp_path: Path) -> None:
    engine = Acting(tmp_path, lambda *_: Processes(2, (3,)))
    told = happened(engine, EventScript((Action(0.0, "signal", "KILL", "worker"),)), {"told": [4]})
    assert told["before"] == [4] and engine.sent == [("KILL", 4)]


def test_a_load_that_never_begins_leaves_nothing_done(tmp_path: Path) -> None:
    engine = Acting(tmp_path, lambda *_: Processes(2, (5, 6)))
    folder = engine.run.folder / "raw"
    with acting(Dependencies(engine), "a", EventScript((Action(0.0, "signal", "HUP", "main"),)), folder):
        pass
    assert engine.sent == [] and json.loads((folder / EVENTS).read_text())["actions"] == []


def test_a_step_has_the_events_of_its_lines() -> None:
    step = Step("r01-e1", "raw/r01/e1", ("a", "b"), ("raw/r01/e1/a", "raw/r01/e1/b"))
    phases, environment = (Phase(0.3, 40.0),), {"TELL_PID": "1"}
    boots = environment | {"BOOT_S": "2"}
    first = Event(name="reload", phases=phases, until="swapped", actions=(HUP,), environment=boots)
    second = Event(name="rolling", phases=phases, environment=environment, proxy="nginx", repeats=3)
    message = {"host": as_json(step), "planned": [{"event": as_plain(event)} for event in (first, second)]}
    assert step_of(json.loads(json.dumps(message))) == replace(
        step,
        events={
            "a": EventScript((HUP,), "swapped", 4.0, boots),
            "b": EventScript((), "", 4.0, environment, repeats=3, containers=2),
        },
    )
    assert step_of({"host": as_json(step), "planned": [{}, {}]}) == step


def make_proc(root: Path, *processes: tuple[int, int, str, str, str]) -> Path:
    """A /proc of (pid, pid inside, state, command line, children)."""
    for pid, inside, state, command, children in processes:
        folder = root / str(pid) / "task" / str(pid)
        folder.mkdir(parents=True)
        (folder / "children").write_text(children)
        (root / str(pid) / "stat").write_text(f"{pid} (a b) c) {state} 1")
        (root / str(pid) / "cmdline").write_text(command.replace(" ", "\0"))
        (root / str(pid) / "status").write_text(f"Name:\ta\nNSpid:\t{pid}\t{inside}\n")
    return root


INIT = (10, 1, "S", "/sbin/docker-init -- start", "11 ")
TRACKER = (13, 4, "S", "python3 -c from multiprocessing.resource_tracker import main", "")


@pytest.mark.parametrize(
    ("processes", "known"),
    [
        ([INIT, (11, 7, "S", "gunicorn", "12 14 "), (12, 8, "R", "gunicorn", ""), (14, 9, "S", "x", "")], (7, (8, 9))),
        ([INIT, (11, 7, "S", "uvicorn", "12 13 "), (12, 8, "R", "x", ""), TRACKER], (7, (8,))),
        ([INIT, (11, 7, "S", "x", "12 14 "), (12, 8, "Z", "x", ""), (14, 9, "T", "x", "")], (7, (9,))),
        ([INIT, (11, 7, "S", "one process", "")], (7, (7,))),
        ([(10, 1, "S", "without init", "")], (1, (1,))),
        ([(10, 1, "S", "/sbin/docker-init -- start", "")], (0, ())),
        ([(10, 1, "Z", "x", "")], (0, ())),
        ([], (0, ())),
    ],
)
def test_workers_are_the_living_children_of_the_process_that_serves(
    tmp_path: Path, processes: list[tuple[int, int, str, str, str]], known: tuple[int, tuple[int, ...]]
) -> None:
    proc = make_proc(tmp_path, *processes)
    assert processes_of(10, proc) == Processes(*known)
    # Processes that are not workers, such as an init or a helper, have descriptors, too.
    assert {known[0], *known[1]} - {0} <= {*all_pids(10, proc)} and (not known[0] or all_pids(10, proc)[0] == 1)


class CanAct(LoopEngine):
    cannot_act = ""


@pytest.mark.parametrize(
    ("kind", "outcome", "row"),
    [
        (LoopEngine, ("measured", ""), (Ended.CANNOT, "this engine cannot send signals to a service")),
        (CanAct, ("did not start", NO_IMAGE), (Ended.FAILED, f"did not start: {NO_IMAGE}")),
    ],
)
def test_in_the_loop_a_row_says_why_it_was_not_done_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[LoopEngine], outcome: tuple[str, str], row: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCH_BEGAN", "0")
    monkeypatch.setenv("BENCH_QUIET", "1")
    event = replace(EVENTS_OF_PLAN["reload"].cases[0], actions=(Action(3.0, "signal", "HUP", "main"),))
    line = solo("aiohttp", 1) | {"tool": "sockets", "level": event.level, "event": as_plain(event)}
    make_loop(tmp_path, [in_step(line), solo("tornado", 2)], [0, 4000])
    engine = kind(tmp_path)
    engine.broken = {line["service"]}
    assert loop(engine) == 3 and outcomes(tmp_path) == [outcome, ("measured", "")]
    assert len(engine.calls("start")) == 2 - bool(engine.cannot_act)
    (record,) = event_records(read_run(str(tmp_path / "results/a-run")))
    assert (record.ended, record.detail) == row

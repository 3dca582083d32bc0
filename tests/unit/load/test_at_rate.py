"""A block at a common rate: each service alone, the others frozen; a stall is detected although the load is short."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from captured import Patch
from loop_runs import NAMES, STACKS, at_rate, block, one_step
from make_run import write_run

from bench.load import at_rate as module
from bench.load import in_turns
from bench.load.at_rate import load_at_rate
from bench.load.cpu_counters import CpuCounters
from bench.load.held import Freezer
from bench.load.in_turns import windows_of
from bench.load.task import Step, read_step
from bench.schedule.step_file import write_step
from bench.tools.streams import Streams
from bench.tools.tool import Command, Load
from bench.tools.vegeta import Vegeta


class Pretending(Freezer):
    """Notes which services are frozen, and when; `thaws`: which were thawed when none was frozen afterwards."""

    def __init__(self) -> None:
        self.frozen_now, self.thaws = set[str](), list[set[str]]()

    def _tell(self, verb: str, services: Sequence[str]) -> list[str]:
        (self.frozen_now.update if verb == "freeze" else self.frozen_now.difference_update)(services)
        self.thaws += [] if self.frozen_now else [{*services}]
        return [*services]


Loaded = list[tuple[str, float | None, frozenset[str]]]
"""For each load: its service, its seconds, and the frozen services."""


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    monkeypatch.chdir(tmp_path)
    lines = [line | {"rate": 500} for line in at_rate(block(2, STACKS))]
    run = write_run(tmp_path / "results/a-run", lines)
    write_step(run, one_step(lines))
    monkeypatch.setattr(module, "pinned", lambda load: load)
    monkeypatch.setattr(Vegeta, "version", lambda _: "12")
    monkeypatch.setattr(Vegeta, "save", lambda *_: True)
    return read_step(str(run))


def load(step: Step, freezer: Pretending | None) -> None:
    (window,) = windows_of(step)
    load_at_rate(step, window, CpuCounters({}), random.Random(1), [], freezer=freezer)


def loads(step: Step, monkeypatch: Patch, freezer: Pretending, fails: str = "", script: str = "echo told") -> Loaded:
    """The loads made by a fake tool."""
    loaded: Loaded = []

    def command(_: Vegeta, load: Load) -> Command:
        service = load.url.removeprefix("http://").partition(":")[0]
        loaded.append((service, load.duration_s, frozenset(freezer.frozen_now)))
        return Command(("sh", "-c", "exit 7" if service == fails else script))

    monkeypatch.setattr(Vegeta, "command", command)
    load(step, freezer)
    return loaded


def told(step: Step, service: str, file: str = "tool.json") -> Any:
    return json.loads((step.run / f"raw/r02/b1/json/vegeta-share50/w1/{service}/{file}").read_text())


def test_each_is_loaded_alone(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    freezer = Pretending()
    loaded = loads(step, monkeypatch, freezer)
    assert sorted({service for service, *_ in loaded}) == sorted(NAMES)
    for service, seconds, frozen in loaded:
        assert seconds == 1.0 and frozen == frozenset(NAMES) - {service}, "the others are frozen"
    assert freezer.frozen_now == set()
    for name in NAMES:
        facts = told(step, name)
        assert (facts["tool"], facts["exit_status"], facts["turns"]["count"]) == ("vegeta", 0, 1)
        assert facts["turns"]["load_ns"] > 0 and step.status(name) == 0


def test_what_leads_in_is_no_part_of_the_load(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    # Like vegeta-attack, the tool stops itself before the load.
    led_in = 'python3 -c "import time; print(time.monotonic_ns())"'
    loads(step, monkeypatch, Pretending(), script=f"{led_in}; kill -STOP 0; sleep 0.1")
    for name in NAMES:
        facts = told(step, name)
        (turn,) = facts["turns"]["each"]
        assert turn["began_ns"] >= told(step, name, "results.bin")
        assert 0.1e9 <= facts["elapsed_ns"] <= facts["turns"]["load_ns"]
        # Of 500/s: 25 connections, and 0.1 s.
        assert facts["lead_requests"] == 75


def test_what_fails_is_its_services_alone_and_nothing_stays_frozen(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    freezer = Pretending()
    loads(step, monkeypatch, freezer, fails=NAMES[1])
    assert [told(step, name)["exit_status"] for name in NAMES] == [0, 7, 0]
    assert [step.status(name) > 0 for name in NAMES] == [False, True, False]
    assert freezer.frozen_now == set()


def test_nobody_is_frozen_for_long(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FROZEN_S", 3.5)
    freezer = Pretending()
    loads(step, monkeypatch, freezer)
    assert freezer.thaws == [set(NAMES)] * 2, "two loads at most take 3.5 s with all that is around them"


def test_a_step_without_turns_is_warmed_up_first(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    done = list[str]()
    monkeypatch.setattr(in_turns, "prepare", lambda task, _: done.append(task.planned.service))
    monkeypatch.setattr(in_turns, "load_at_rate", lambda *_, **__: done.append("loaded"))
    in_turns.load_windows(step)
    assert sorted(done[:3]) == sorted(NAMES) and done[3:] == ["loaded"]


def test_without_a_freezer_all_are_loaded_too(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Vegeta, "command", lambda *_: Command(("true",)))
    load(step, None)
    assert [told(step, name)["exit_status"] for name in NAMES] == [0, 0, 0]


def test_streams_with_a_pace_of_their_own_are_loaded_one_by_one(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    paced = {"kind": "sse", "path": "/sse/2/100", "events": 2, "gap_ms": 100}
    paced |= {"tool": "streams", "level": "r4", "rate": 4, "connections": None}
    lines = [line | paced | {"dir": line["dir"].replace("wrk-c16", "streams-r4")} for line in block(2, STACKS)]
    write_step(run := write_run(tmp_path / "results/a-run", lines), one_step(lines))
    step = read_step(str(run))
    monkeypatch.setattr(module, "pinned", lambda load: load)
    monkeypatch.setattr(Streams, "command", lambda *_: Command(("sleep", "0.5")))
    done = list[str]()
    monkeypatch.setattr(in_turns, "prepare", lambda task, _: done.append(task.planned.service))
    in_turns.load_windows(step)
    assert sorted(done) == sorted(NAMES)
    told_of = [json.loads((step.run / line["dir"] / "tool.json").read_text()) for line in lines]
    spans = sorted(
        (turn["began_ns"], turn["began_ns"] + turn["load_ns"]) for (turn,) in (t["turns"]["each"] for t in told_of)
    )
    assert all(ended <= began for (_, ended), (began, _) in pairwise(spans))
    assert {(turns["count"], turns["each"][0]["long"]) for turns in (t["turns"] for t in told_of)} == {(1, None)}

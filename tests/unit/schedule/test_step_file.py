"""step.json has exactly what the plan says, for any plan."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from captured import refused
from loop_runs import block
from make_run import entry

from bench.core.errors import UserError
from bench.core.exchange import Exchange
from bench.core.formats import plain
from bench.core.typed import read_as
from bench.load.failures import Failed
from bench.load.task import FILE as STEP
from bench.load.task import Step as Loaded
from bench.load.task import read_step, task_of
from bench.plan.event import Event, Phase
from bench.plan.measurement import Measurement, planned_of
from bench.schedule.step_file import write_step
from bench.schedule.steps import steps_of
from bench.tools.levels import Level
from driver.messages import Step as HostStep
from driver.messages import read, step_of

LINE = entry(level="c32", number=3, service="svc-a", path="/json", timeout_s=2.0, warmup_s=1.0)
SOLO = planned_of(LINE | {"dir": "raw/r01/0003/json/wrk-c32/w1/svc-a"})
HOSTILE = ("", "'", "a'b\"c", "$(touch pwned)", "a\nb\n", "\\n", "\x01\x02\x7f\x1b[0m", "\t\r", "é ß 日本 🙂 \u2028")
"""Texts that JSON has to escape, and a command for a shell."""


def written(folder: Path, lines: Iterable[Measurement]) -> Loaded:
    """The step as the load generator reads it."""
    (step,) = steps_of(lines)
    write_step(folder, step)
    return read_step(str(folder))


def host_part(folder: Path) -> HostStep:
    """The step as the driver reads it."""
    return step_of(read(folder / STEP) or {})


EVENT: dict[str, Any] = {"name": "reload", "phases": [{"share": 0.3, "seconds": 5.0}]}
OTHER_EVENTS: dict[str, tuple[Any, str]] = {
    "no name": ({"case": "keep-alive", "phases": []}, "event: missing key 'name'"),
    "no phases": ({"name": "reload"}, "event: missing key 'phases'"),
    "other phases": ({"name": "reload", "phases": [{"share": 0.3}]}, "event.phases[0]: missing key 'seconds'"),
    "other actions": (EVENT | {"actions": [{"at": 3.0, "kind": "HUP"}]}, "event.actions[0]: missing key 'at_s'"),
    "needs that are less": (EVENT | {"needs": {"steps": [1]}}, "event.needs: missing key 'timeout_s'"),
    "needs that are a list": (EVENT | {"needs": ["threads"]}, "event.needs: expected 'object"),
}


def test_an_event_without_the_fields_of_today_has_their_defaults(tmp_path: Path) -> None:
    """Fields missing in an earlier version's plan get that version's behaviour; those of a later one are ignored."""
    of_event = {"mode": "event", "unit": "r01-e1", "block": 1, "slot": 3}
    line = planned_of(SOLO.as_dict() | of_event | {"event": EVENT | {"of_tomorrow": 1}})
    (planned,) = written(tmp_path, [line]).planned.values()
    assert planned.event == Event(name="reload", phases=(Phase(0.3, 5.0),)) and planned.after_s == 1.0
    (doings,) = host_part(tmp_path).events.values()
    assert (doings.actions, doings.containers) == ((), 1)


def test_a_service_under_two_cases_at_once_has_two_containers(tmp_path: Path) -> None:
    first = replace(SOLO, id="r01-e1-1", unit="r01-e1", slot=1, mode="event", event=read_as(Event, EVENT))
    second = replace(first, id="r01-e1-2", slot=2, copy=2, event=replace(first.event, environment={"BOOT_S": "2"}))
    names = ("svc-a", "svc-a-copy-2")
    step = written(tmp_path, [first, second])
    tasks = map(step.task, step.planned)
    assert [(task.planned.service, task.planned.container, task.load.url) for task in tasks] == [
        ("svc-a", name, f"http://{name}:8080/json") for name in names
    ]
    host = host_part(tmp_path)
    assert (host.services, host.copies) == (names, {"svc-a-copy-2": "svc-a"})
    environments = {name: dict(script.environment) for name, script in host.events.items()}
    assert environments == dict(zip(names, ({}, {"BOOT_S": "2"}), strict=True))


@pytest.mark.parametrize("event", OTHER_EVENTS)
def test_an_event_of_another_version_is_refused_in_one_line(event: str, tmp_path: Path) -> None:
    value, words = OTHER_EVENTS[event]
    fault = str(refused(UserError, planned_of, SOLO.as_dict() | {"event": value}))
    assert words in fault and fault.startswith("r01-0003 of the plan: ") and "\n" not in fault
    written(tmp_path, [replace(SOLO, event=read_as(Event, EVENT))])
    told = json.loads((tmp_path / STEP).read_text())
    told["planned"][0]["event"] = value
    (tmp_path / STEP).write_text(json.dumps(told))
    fault = str(refused(Failed, read_step, str(tmp_path)))
    assert words in fault and "\n" not in fault


def test_a_solo_step(tmp_path: Path) -> None:
    task = written(tmp_path, [SOLO]).task()
    assert (task.planned, task.load.url) == (SOLO, "http://svc-a:8080/json")
    assert (task.load.duration_s, task.deadline_s, task.planned.after_s) == (5, 17, 0)
    assert host_part(tmp_path) == HostStep("r01-0003", "raw/r01/0003", ("svc-a",), (SOLO.dir,))


def test_a_block(tmp_path: Path) -> None:
    """Two windows of two services."""
    lines = [*map(planned_of, block(1, ("aiohttp", "tornado"), windows=2))]
    names = ("aiohttp-py313-debian", "tornado-py313-debian")
    step = written(tmp_path, lines)
    tasks = {name: step.task(name) for name in step.planned}
    assert [(name, task.planned.id, task.load.url, task.load.duration_s) for name, task in tasks.items()] == [
        (f"r01-b1-json-wrk-c16-w{window}-{slot}",) * 2 + (f"http://{name}:8080/json", 3600)
        for window in (1, 2)
        for slot, name in enumerate(names, 1)
    ]
    assert host_part(tmp_path) == HostStep("r01-b1", "raw/r01/b1", names, tuple(line.dir for line in lines), held=True)
    assert sorted(os.listdir(tmp_path)) == ["step.json"]


@pytest.mark.parametrize("value", HOSTILE)
def test_any_text_comes_back_as_it_is(value: str, tmp_path: Path) -> None:
    keys = ("id", "service", "tool", "dir", "scenario", "level")
    texts: dict[str, Any] = {key: f"{value}{key}{value}" for key in keys}
    texts |= {"level": Level.read(texts["level"])}
    line = replace(SOLO, **texts, exchange=Exchange(method=value or "GET", path=f"{value}path{value}", body=value))
    loaded, step = written(tmp_path, [line]), host_part(tmp_path)
    assert (step.id, step.folders, step.services) == (line.id, (line.dir,), (line.service,))
    assert loaded.planned == {line.id: line}
    load = task_of(str(tmp_path), replace(line, tool="wrk")).load
    assert (load.exchange, load.url) == (line.exchange, f"http://{line.service}:8080{line.exchange.path}")
    assert sorted(os.listdir(tmp_path)) == ["step.json"]


@pytest.mark.parametrize(
    "value, text", [(None, ""), (5, "5"), (5.0, "5"), (0.5, "0.5"), (2.5, "2.5"), (0.0, "0"), ("a", "a")]
)
def test_numbers_are_written_as_tools_take_them(value: str | float | None, text: str) -> None:
    assert plain(value) == text


def test_deadlines() -> None:
    for change, expected in (
        ({"duration_s": 5, "timeout_s": 2}, 17),
        ({"duration_s": 0.5, "timeout_s": 1.25}, 11.75),
        ({"duration_s": None, "count": 1000}, 600),
    ):
        assert task_of("results/a-run", replace(SOLO, **change)).deadline_s == expected


def test_on_two_machines_a_service_is_asked_at_its_port(tmp_path: Path) -> None:
    (tmp_path / "addresses.tsv").write_text(f"{SOLO.service}\t198.18.83.1:21003\n")
    assert written(tmp_path, [SOLO]).task().load.url == f"http://198.18.83.1:21003{SOLO.exchange.path}"
    assert written(tmp_path, [replace(SOLO, service="another")]).task().load.url == "http://another:8080/json"


def test_what_is_no_step_is_one_line_and_wrong_usage(tmp_path: Path) -> None:
    def is_refused(words: str) -> None:
        failed = refused(Failed, lambda: read_step(str(tmp_path)).task())
        assert failed.status == 2 and words in str(failed)

    is_refused(f"no readable step file at {tmp_path}/step.json")
    written(tmp_path, [SOLO])
    whole = json.loads((tmp_path / STEP).read_text())
    line = whole["planned"][0]
    for content, words in (
        (whole | {"schema": 2}, "is not a step of schema 1"),
        (whole | {"planned": []}, "has no load "),
        (whole | {"planned": [{}]}, "planned[0]: missing key 'id'"),
        (whole | {"planned": [line | {"rate": "fast"}]}, "planned[0].rate: expected"),
        (whole | {"planned": [line | {"connections": True}]}, "planned[0].connections: expected"),
        ([], "is not a step of schema 1"),
    ):
        (tmp_path / STEP).write_text(json.dumps(content))
        is_refused(words)

"""Outcomes of a step, from what the host saw and what the load generator said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from captured import refused
from loop_runs import block, one_step, solo, write_finished

from bench.core.errors import UserError
from bench.plan.event import Event
from bench.schedule.finished import metas, read_finished, record_step
from bench.schedule.steps import Step
from driver.messages import Finished

ONE = one_step([solo("aiohttp", 1)])
NAME = ONE.services[0]
ENDED = (NAME,)


def seen(ended: tuple[str, ...] = (), **statuses: int) -> Finished:
    return Finished(ONE.id, 1, 2, statuses, ended=ended)


def outcome_of(folder: Path, facts: Finished, status: int | None = None, **said: str) -> tuple[str, str]:
    """Outcome and detail of a service alone, with this saved status and these outputs.

    `said`: `log` of the service, `run` of the verb, `txt` of the load generator.
    """
    services = folder / ONE.dir / "services"
    services.mkdir(parents=True)
    if status is not None:
        (services / f"{NAME}.status").write_text(f"{status}\n")
    for kind, text in said.items():
        (folder / ONE.dir / "run.txt" if kind == "run" else services / f"{NAME}.{kind}").write_text(text)
    [(name, meta)] = metas(folder, ONE, facts)
    assert name == ONE.first.dir
    return meta["outcome"], meta["detail"]


DIED = "its container ended"
SILENT = "the load generator ended with status %d and no word, before this window"


OUTCOMES = [
    (seen(start=0, prepare=0, run=0), 0, {}, ("measured", "")),
    (seen(run=12), 12, {"txt": "ready 1\na\nmeasure: b\n\n"}, ("load tool failed", "measure: b")),
    (seen(run=137), 0, {"txt": "ready 1\n", "run": "killed\n"}, ("load tool failed", "killed")),
    (seen(run=12), None, {"run": "client 2: it\n"}, ("load tool failed", "client 2: it")),
    (seen(ENDED, run=0), 0, {"txt": "ready 1\n"}, ("died", DIED)),
    (seen(ENDED, run=12), 12, {"txt": "ready 1\n", "log": "a\nb\n"}, ("died", f"{DIED}; last log line: b")),
    (seen(prepare=10), 10, {"txt": "none\n"}, ("did not start", "none")),
    (seen(ENDED, prepare=10), 10, {"txt": "none\n", "log": "b\n"}, ("did not start", "none; last log line: b")),
    (seen(prepare=10), 10, {"txt": "ready 1\nsilent\n"}, ("does not answer", "silent")),
    (seen(ENDED, prepare=10), 10, {"txt": "ready 1\nsilent\n"}, ("died", DIED)),
    (seen(prepare=11), 11, {"txt": "ready 1\nwrong\n"}, ("answers wrongly", "wrong")),
    (seen(prepare=137), None, {}, ("load tool failed", SILENT % 137)),
]


@pytest.mark.parametrize(("facts", "status", "said", "expected"), OUTCOMES)
def test_outcomes(
    facts: Finished, status: int | None, said: dict[str, str], expected: tuple[str, str], tmp_path: Path
) -> None:
    assert outcome_of(tmp_path, facts, status, **said) == expected


def test_a_server_that_already_ran_does_not_answer(tmp_path: Path) -> None:
    lines = block(1, ("aiohttp", "tornado"))
    lines[1] |= {"url": "http://127.0.0.1:8000", "service": "target-127.0.0.1-8000"}
    step = one_step(lines)
    services = tmp_path / step.dir / "services"
    services.mkdir(parents=True)
    for name in step.services:
        (services / f"{name}.status").write_text("10\n")
    found = [meta["outcome"] for _, meta in metas(tmp_path, step, seen(start=0))]
    assert found == ["did not start", "does not answer"]


def test_what_did_not_start_has_the_last_words_of_its_start(tmp_path: Path) -> None:
    log = tmp_path / "raw/services/aiohttp-py313-debian/start.log"
    log.parent.mkdir(parents=True)
    log.write_text("Container starting\nno such \x1b[31mimage\n")
    assert outcome_of(tmp_path, seen(start=1)) == ("did not start", "no such  [31mimage")


def test_what_the_driver_saw_is_of_one_step(tmp_path: Path) -> None:
    assert read_finished(tmp_path) is None
    write_finished(tmp_path, id="other", end_ns=2, statuses={"run": 12}, ended=("a", "b"))
    found = read_finished(tmp_path)
    assert found == Finished("other", 1, 2, {"run": 12}, ended=("a", "b"))
    with pytest.raises(UserError, match="is of step other, not of r01-0001"):
        record_step(tmp_path, ONE, found)
    for text in ("{", '{"schema": 0}', '{"schema": 1}'):
        (tmp_path / "finished.json").write_text(text)
        refused(UserError, read_finished, tmp_path)


BLOCK = one_step(block(1, ("aiohttp", "tornado"), ("json", "db-raw")))
WELL = seen(start=0, prepare=0, run=0)


def of_block(run: Path, facts: Finished, windows: dict[tuple[str, str], Any], **said: str) -> list[str]:
    """Outcome and detail of each window of a block.

    `windows` have these tool.json; `said` has `STATUS WORDS` for each service.
    """
    services = run / BLOCK.dir / "services"
    services.mkdir(parents=True)
    for name, text in said.items():
        status, _, words = text.partition(" ")
        (services / f"{name}-py313-debian.status").write_text(f"{status}\n")
        (services / f"{name}-py313-debian.txt").write_text(f"ready 3\n{words}\n")
    for line in BLOCK.lines:
        told = windows.get((line.service.partition("-")[0], line.scenario))
        if told is not None:
            (run / line.dir).mkdir(parents=True)
            (run / line.dir / "tool.json").write_text(told if isinstance(told, str) else json.dumps(told))
    record_step(run, BLOCK, replace(facts, id=BLOCK.id))
    found = [json.loads((run / line.dir / "meta.json").read_text()) for line in BLOCK.lines]
    assert [meta["id"] for meta in found] == list(BLOCK.ids)
    return [f"{meta['outcome']}: {meta['detail']}" for meta in found]


HEALTHY, ILL = {"health_after": {"status": 200}}, {"health_after": {"status": None, "error": "refused"}}
ALL = {(stack, scenario): HEALTHY for stack in ("aiohttp", "tornado") for scenario in ("json", "db-raw")}
"""In the plan's order: json for both services, then db-raw for both."""


def test_a_block_that_went_well_is_measured(tmp_path: Path) -> None:
    assert of_block(tmp_path, WELL, ALL, aiohttp="0", tornado="0") == ["measured: "] * 4


def test_what_a_service_had_measured_before_it_failed_stays(tmp_path: Path) -> None:
    windows = {key: value for key, value in ALL.items() if key != ("tornado", "db-raw")}
    found = of_block(tmp_path, WELL, windows, aiohttp="0", tornado="11 measure: got 500")
    assert found == ["measured: "] * 3 + ["answers wrongly: measure: got 500"]


def test_a_service_that_ended_died_in_the_window_after_which_it_gave_no_answer(tmp_path: Path) -> None:
    windows = ALL | {("tornado", "db-raw"): ILL}
    log = tmp_path / BLOCK.dir / "services/tornado-py313-debian.log"
    facts = seen(ended=("tornado-py313-debian",))
    found = of_block(tmp_path, facts, windows, aiohttp="0", tornado="0")
    assert found == ["measured: "] * 3 + ["died: its container ended"]
    log.write_text("Traceback\nMemoryError\n")
    record_step(tmp_path, BLOCK, replace(facts, id=BLOCK.id))
    last = json.loads((tmp_path / BLOCK.lines[3].dir / "meta.json").read_text())
    assert last["detail"] == "its container ended; last log line: MemoryError"


def test_a_service_that_is_up_and_gave_no_answer_was_measured_and_is_judged_by_that(tmp_path: Path) -> None:
    windows = ALL | {("tornado", "json"): ILL}
    assert of_block(tmp_path, WELL, windows, aiohttp="0", tornado="0") == ["measured: "] * 4


def test_windows_that_were_not_reached_say_what_the_load_said_last(tmp_path: Path) -> None:
    said = tmp_path / BLOCK.dir / "run.txt"
    said.parent.mkdir(parents=True)
    said.write_text("Traceback\nOSError: full\n")
    windows = {key: value for key, value in ALL.items() if key[1] == "json"} | {("aiohttp", "db-raw"): '{"torn'}
    found = of_block(tmp_path, seen(run=1), windows, aiohttp="0", tornado="0")
    assert found == ["measured: "] * 2 + ["load tool failed: OSError: full"] * 2


def test_a_status_that_cannot_be_read_is_a_tool_that_failed(tmp_path: Path) -> None:
    found = of_block(tmp_path, WELL, {}, aiohttp="-9 killed", tornado=" ")
    assert found[0] == "load tool failed: killed"
    assert {words.partition(":")[0] for words in found} == {"load tool failed"}


def test_a_block_that_did_not_start_has_no_window_of_an_earlier_try(tmp_path: Path) -> None:
    found = of_block(tmp_path, seen(ended=("aiohttp-py313-debian", "tornado-py313-debian"), start=1), ALL)
    assert {words.partition(":")[0] for words in found} == {"did not start"}


def test_two_containers_of_a_service_have_an_outcome_each(tmp_path: Path) -> None:
    event = Event(name="reload", phases=())
    first = replace(BLOCK.first, id="r01-e1-1", mode="event", unit="r01-e1", event=event)
    second = replace(first, id="r01-e1-2", copy=2, dir=first.dir.replace("c16", "other"))
    step = Step((first, second))
    services = tmp_path / step.dir / "services"
    services.mkdir(parents=True)
    for name, status, words in (("", 0, "ready 1\n"), ("-copy-2", 12, "ready 1\nmeasure: b\n")):
        (services / f"{first.service}{name}.status").write_text(f"{status}\n")
        (services / f"{first.service}{name}.txt").write_text(words)
    (tmp_path / first.dir).mkdir(parents=True)
    (tmp_path / first.dir / "tool.json").write_text("{}")
    found = [meta for _, meta in metas(tmp_path, step, replace(WELL, id=step.id))]
    outcomes = [(meta["outcome"], meta["detail"]) for meta in found]
    assert outcomes == [("measured", ""), ("load tool failed", "measure: b")]

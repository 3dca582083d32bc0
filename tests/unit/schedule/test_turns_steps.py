"""The measuring loop with blocks of services in turns: what is loaded, left out, recorded, repeated, and shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, Patch
from loop_runs import (
    NAMES,
    RATES,
    STACKS,
    a_run,
    ask,
    at_rate,
    begun,
    block,
    finish_block,
    null,
    one_step,
    step_id,
    steps,
    write_window,
)

from bench.load.task import read_step
from bench.records.record import Record
from bench.run.reader import read_run
from bench.schedule import journal
from bench.schedule.step_file import write_step
from bench.schedule.steps import open_steps
from bench.tools.levels import Level, LoadKey

JSON, RAW = (LoadKey(scenario, "wrk", Level.read("c16")) for scenario in ("json", "db-raw"))


def meta_of(folder: Path, line: dict[str, Any]) -> dict[str, Any] | None:
    file = folder / line["dir"] / "meta.json"
    return dict(json.loads(file.read_text())) if file.exists() else None


def loaded(folder: Path) -> list[str]:
    """The measurements of the step to be loaded next."""
    return [*read_step(str(folder)).planned]


def test_a_block_is_one_step_of_all_its_services_and_tables() -> None:
    lines = block(2, STACKS, ("json", "db-raw"), number=3)
    step = one_step(lines)
    assert (step.id, step.first.mode, step.round, step.dir) == ("r02-b3", "turns", 2, "raw/r02/b3")
    assert (step.services, step.ids) == (NAMES, tuple(line["id"] for line in lines))
    assert step.label == "round 2, 3 services in turns: json wrk c16, db-raw wrk c16"


def test_tables_and_services_are_left_out_of_a_block() -> None:
    step = one_step(block(1, STACKS, ("json", "db-raw")))
    left = step.without([JSON], [NAMES[1]])
    assert left is not None and left.id == step.id
    assert {(line.scenario, line.service) for line in left.lines} == {("db-raw", NAMES[0]), ("db-raw", NAMES[2])}
    assert step.without([JSON, RAW]) is step.without(services=NAMES) is None
    assert step.without() == step


def test_settled_and_measured_tables_are_not_loaded_again() -> None:
    every = steps([*block(1, STACKS, ("json", "db-raw")), *block(2, STACKS, ("json", "db-raw"))])
    first = every[0]
    (second,) = open_steps(every, first.ids, settled=[JSON])
    assert {line.scenario for line in second.lines} == {"db-raw"}
    # At common rates, a settled table is still loaded: its latency needs a round more than its ranking.
    rated = steps([*block(7, STACKS), *at_rate(block(7, STACKS))])
    (seventh,) = open_steps(rated, (), settled=[JSON])
    assert {line.mode for line in seventh.lines} == {"rate"} and seventh.held
    assert seventh.label == "round 7, 3 services at common rates: json wrk c16"
    # If one service failed, the others are not loaded again.
    assert list(open_steps([first], [i for i in first.ids if not i.endswith("-2")])) == []
    (raw,) = open_steps([first], [line.id for line in first.lines if line.scenario == "json"])
    assert {line.scenario for line in raw.lines} == {"db-raw"}
    # Not again in the same call, whatever the result.
    assert list(open_steps([first], ["r01-b1"])) == []


def test_a_block_that_is_loaded_again_begins_with_nothing(tmp_path: Path) -> None:
    lines = block(1, STACKS, ("json", "db-raw"))
    finish_block(tmp_path, lines, RATES)
    services = tmp_path / "raw/r01/b1/services"
    write_step(tmp_path, one_step(line for line in lines if line["scenario"] == "json"))
    assert not any((tmp_path / line["dir"]).exists() for line in lines if line["scenario"] == "json")
    # The table that is left out keeps its files.
    assert all((tmp_path / line["dir"] / "tool.json").exists() for line in lines if line["scenario"] == "db-raw")
    assert list(services.iterdir()) == []


def judge(monkeypatch: pytest.MonkeyPatch, *settled: LoadKey) -> list[set[LoadKey]]:
    """Make every round a look, which settles these tables; returns the tables that are judged in each call."""
    asked: list[set[LoadKey]] = []

    def tables(records: Iterable[Record]) -> dict[LoadKey, int]:
        return {one.load: one.round for one in records if one.mode == "turns"}

    def settled_tables(facts: object, records: Sequence[Record]) -> set[LoadKey]:
        asked.append({*tables(records)})
        return {*settled}

    monkeypatch.setattr(journal, "looks_reached", lambda facts, records: tables(records))
    monkeypatch.setattr(journal, "settled_tables", settled_tables)
    return asked


def test_a_run_in_turns_from_its_first_block_to_its_last(tmp_path: Path, capsys: Capture) -> None:
    first, second = block(1, STACKS), block(2, STACKS)
    folder = begun(tmp_path, capsys, *first, *second, rounds=2)
    assert (step_id(folder), loaded(folder)) == ("r01-b1", [line["id"] for line in first])
    finish_block(folder, first, RATES)
    status, (line,) = ask(folder, capsys, 10)
    assert (status, step_id(folder)) == (0, "r02-b1")
    assert line.startswith("[1/2] round 1, 3 services in turns: json wrk c16: 3 of 3 windows valid; requests/s: ")
    assert line.endswith("; 0 not valid, 0:10 left") and all(name in line for name in NAMES)
    finish_block(folder, second, {NAMES[0]: 3000}, ended=(NAMES[2],))
    status, said = ask(folder, capsys, 20)
    assert status == 3
    assert said[0].startswith("[2/2] round 2, 3 services in turns: json wrk c16: 1 of 3 windows valid; tornado")
    assert [(meta_of(folder, line) or {})["outcome"] for line in second] == ["measured", "load tool failed", "died"]
    assert {path.name for path in folder.iterdir()} == {"raw", "run.json", "plan.jsonl"}


def test_a_service_that_failed_its_verification_is_left_out_of_its_blocks(tmp_path: Path, capsys: Capture) -> None:
    lines = block(1, STACKS)
    folder = a_run(tmp_path, *lines)
    (folder / "raw/services" / NAMES[1] / "failure.json").write_text('{"outcome": "build failed", "detail": "x"}')
    assert ask(folder, capsys, 0, "--begin")[0] == 0
    assert loaded(folder) == [lines[0]["id"], lines[2]["id"]]
    finish_block(folder, [lines[0], lines[2]], RATES)
    assert ask(folder, capsys, 10)[0] == 3 and meta_of(folder, lines[1]) is None
    for name in (NAMES[0], NAMES[2]):
        (folder / "raw/services" / name / "failure.json").write_text('{"outcome": "build failed", "detail": "x"}')
    for line in lines:
        (folder / line["dir"] / "meta.json").unlink(missing_ok=True)
    assert ask(folder, capsys, 0, "--begin") == (3, [])


def test_settled_tables_are_not_measured_on(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = [block(number, STACKS, ("json", "db-raw")) for number in (1, 2)]
    judge(monkeypatch, JSON)
    folder = begun(tmp_path, capsys, *rounds[0], *rounds[1])
    assert len(loaded(folder)) == 6
    finish_block(folder, rounds[0], RATES)
    assert ask(folder, capsys, 10)[0] == 0
    assert loaded(folder) == [line["id"] for line in rounds[1] if line["scenario"] == "db-raw"]
    asked = judge(monkeypatch, RAW)
    finish_block(folder, rounds[1][3:], RATES)
    assert ask(folder, capsys, 20)[0] == 3
    assert asked == [{RAW}], "what is settled is not judged again"


def test_a_look_is_judged_once_and_none_before_the_first(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    rounds = [block(number, STACKS) for number in range(1, 7)]
    asked: list[int] = []
    monkeypatch.setattr(
        journal, "settled_tables", lambda facts, records: asked.append(max(one.round for one in records)) or set()
    )
    folder = begun(tmp_path, capsys, *chain(*rounds), rounds=12)
    for lines in rounds:
        finish_block(folder, lines, RATES)
        ask(folder, capsys, 10)
    assert asked == [4, 6]


def test_a_loop_that_was_cut_within_a_round_goes_on_with_what_is_left(tmp_path: Path, capsys: Capture) -> None:
    one, two = block(1, STACKS, number=1), block(1, ("bjoern-wsgi", "cherrypy"), number=2)
    folder = begun(tmp_path, capsys, *one, *two)
    finish_block(folder, one, RATES)
    assert ask(folder, capsys, 10)[0] == 0
    before = {line["id"]: (folder / line["dir"] / "meta.json").read_bytes() for line in one}
    # The second block has a window, but was not finished.
    write_window(folder, two[0], 3000)
    assert ask(folder, capsys, 0, "--begin")[0] == 0 and step_id(folder) == "r01-b2"
    assert not (folder / two[0]["dir"] / "tool.json").exists()
    finish_block(folder, two, {line["service"]: 3000.0 for line in two})
    assert ask(folder, capsys, 10)[0] == 3
    assert {line["id"]: (folder / line["dir"] / "meta.json").read_bytes() for line in one} == before
    assert all(meta_of(folder, line) for line in two)


def test_a_block_that_ended_before_the_loop_was_cut_is_recorded_as_far_as_it_was_loaded(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = block(1, STACKS, ("json", "db-raw"))
    judge(monkeypatch, JSON)
    monkeypatch.setattr(journal, "looks_reached", lambda facts, records: {JSON: 1})
    folder = begun(tmp_path, capsys, *lines)
    finish_block(folder, lines[3:], RATES)
    assert ask(folder, capsys, 0, "--begin")[0] == 3
    # The settled table was not loaded, which is not a failure.
    assert [meta_of(folder, line) is not None for line in lines] == [False] * 3 + [True] * 3


def test_the_null_server_is_measured_once_where_all_is_in_turns(tmp_path: Path, capsys: Capture) -> None:
    lines, control = block(1, STACKS), null(2)
    folder = begun(tmp_path, capsys, *lines, control)
    finish_block(folder, lines, RATES)
    assert ask(folder, capsys, 10)[0] == 0 and step_id(folder) == control["id"]


def test_the_journal_keeps_the_records_of_windows_in_turns(tmp_path: Path, capsys: Capture) -> None:
    lines = block(1, STACKS)
    folder = begun(tmp_path, capsys, *lines, *block(2, STACKS))
    finish_block(folder, lines, {name: rate for name, rate in RATES.items() if name != NAMES[1]})
    ask(folder, capsys, 10)
    appended = journal.read(str(folder))
    kinds = ("done", "failed", "done", "tried", "tried", "tried")
    ids = [line["id"] for line in lines] * 2
    assert [(line.kind, line.id) for line in appended] == [*zip(kinds, ids, strict=True)]
    records = journal.records(appended, ("turns",))
    assert [(record.service, record.block, record.window) for record in records] == [(n, 1, 1) for n in NAMES]
    # Rebuilt from the raw files it is the same, except for the lines of tries.
    journal.rebuild(read_run(str(folder)))
    assert journal.read(str(folder)) == appended[:3]

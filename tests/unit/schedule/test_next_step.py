"""The measuring loop without containers: what each call of `next` records, prints and decides."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from captured import Capture, Patch
from loop_runs import FIRST, SECOND, a_run, ask, begun, finish, null, solo, step_id, write_finished
from make_run import output_of, write_measurement

from bench.run.provenance import part_hashes
from bench.run.reader import read_run
from bench.schedule.journal import FILE, Line
from driver.messages import UNFINISHED


def test_a_run_from_its_first_step_to_its_last(tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path, capsys, FIRST, SECOND)
    assert step_id(folder) == FIRST["id"]
    finish(folder, [FIRST], [3000])
    said = "[1/2] aiohttp-py313-debian json wrk c64: 3,000 requests/s; 0 not valid, 0:20 left"
    assert ask(folder, capsys, 20) == (0, [said]) and step_id(folder) == SECOND["id"]
    finish(folder, [SECOND], [4000])
    said = "[2/2] tornado-py313-debian json wrk c64: 4,000 requests/s; 0 not valid, 0:00 left"
    assert ask(folder, capsys, 30) == (3, [said])
    assert {path.name for path in folder.iterdir()} == {"raw", "run.json", "plan.jsonl"}


def test_meta_json_is_what_marks_a_measurement_as_whole(tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path, capsys, FIRST)
    finish(folder, [FIRST], [3000])
    ask(folder, capsys, 1)
    meta = json.loads((folder / FIRST["dir"] / "meta.json").read_text())
    output = hashlib.sha256((folder / FIRST["dir"] / "output.txt").read_bytes()).hexdigest()
    assert meta.pop("sha256")["output.txt"] == output
    moments = ("begin_ns", "started_ns", "ready_ns", "warm_ns", "loaded_ns", "end_ns")
    expected = {"schema": 1, "id": FIRST["id"], "outcome": "measured", "detail": "", "image_id": "sha256:1"}
    assert meta == expected | dict(zip(moments, range(1, 7), strict=True))
    assert not (folder / "finished.json").exists()


@pytest.mark.parametrize(("changed", "count"), [("loadgen", 1), ("bench/stats", 0)], ids=["measures", "judges"])
def test_a_project_that_changes_is_reported(changed: str, count: int, tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path, capsys, FIRST, harness={"parts": part_hashes() | {changed: "of another version"}})
    finish(folder, [FIRST], [3000])
    assert ask(folder, capsys, 1)[0] == 3
    said = f"{changed} of the project changed while this run was measured: its figures may be of two versions"
    assert read_run(str(folder)).faults == (said,) * count


def test_a_loop_that_begins_again_repeats_what_is_not_measured(tmp_path: Path, capsys: Capture) -> None:
    one, two, three = (solo("aiohttp", number, level=f"c{number}") for number in (1, 2, 3))
    folder = a_run(tmp_path, one, two, three)
    write_measurement(folder, one, output_of(one, 3000))
    write_measurement(folder, two, output_of(two, 3000), meta={"outcome": "died", "detail": "it died"})
    # The journal of an earlier call is not trusted.
    lines = (Line("done", "r01-0003"), Line("tried", "r01-0002"))
    (folder / FILE).write_text("".join(line.text() for line in lines))
    (folder / "loop.json").write_text("{}")
    assert ask(folder, capsys, 0, "--begin")[0] == 0 and step_id(folder) == two["id"]
    # It is not tried again in the same call.
    finish(folder, [two], [], statuses={"run": 12})
    assert ask(folder, capsys, 1)[0] == 0 and step_id(folder) == three["id"]
    finish(folder, [three], [3000])
    assert ask(folder, capsys, 2)[0] == 3
    assert ask(folder, capsys, 0, "--begin")[0] == 0 and step_id(folder) == two["id"]


def test_a_step_that_ended_before_the_loop_was_cut_is_not_repeated(tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path, capsys, FIRST)
    finish(folder, [FIRST], [3000])
    assert ask(folder, capsys, 0, "--begin") == (3, [])
    assert (folder / FIRST["dir"] / "meta.json").exists()


def test_a_service_that_failed_is_not_loaded(tmp_path: Path, capsys: Capture) -> None:
    one, two, three = solo("aiohttp", 1), solo("tornado", 2), solo("aiohttp", 3, level="c8", dir="raw/r01/three")
    folder = a_run(tmp_path, one, two, three)
    (folder / "raw/services/aiohttp-py313-debian/failure.json").write_text('{"outcome": "build failed", "detail": ""}')
    said = ["[1/3] aiohttp-py313-debian json wrk c64: not loaded; 1 not valid, 0:00 left"]
    assert ask(folder, capsys, 0, "--begin") == (0, said) and step_id(folder) == two["id"]
    finish(folder, [two], [3000])
    status, said = ask(folder, capsys, 20)
    assert status == 3
    assert said[1].startswith("[3/3] aiohttp-py313-debian json wrk c8: not loaded; 2 not valid")


def test_the_time_is_up(tmp_path: Path, capsys: Capture) -> None:
    folder = a_run(tmp_path / "a-run", FIRST, SECOND)
    assert ask(folder, capsys, 5, "--begin", "--max-time", "30")[0] == 0
    finish(folder, [FIRST], [3000])
    status, said = ask(folder, capsys, 30)
    assert status == 4
    assert said[0].startswith("[1/2] aiohttp-py313-debian json wrk c64: 3,000 requests/s; ")
    assert said[1:] == ["the time is up (--max-time): the report says what is missing; resume with --resume a-run"]
    assert (folder / UNFINISHED).exists()
    assert ask(folder, capsys, 5, "--begin")[0] == 0
    assert step_id(folder) == SECOND["id"] and not (folder / UNFINISHED).exists()


def test_a_quiet_loop_says_nothing(tmp_path: Path, capsys: Capture) -> None:
    folder = begun(tmp_path, capsys, FIRST, SECOND, options=["--quiet"])
    finish(folder, [FIRST], [3000])
    assert ask(folder, capsys, 1, "--quiet") == (0, [])


def test_a_terminal_has_the_state_of_the_run_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    folder = a_run(tmp_path, FIRST, SECOND)
    screen = ("--columns", "200", "--colour")
    first = ask(folder, capsys, 0, "--begin", *screen)[1]
    assert first == ["[0/2] 0:20 left, 0 not valid | now aiohttp-py313-debian json wrk c64"]
    finish(folder, [FIRST], [3000], statuses={"run": 12}, ended=(FIRST["service"],))
    counts = "[1/2] 0:10 left, \x1b[31m1 not valid\x1b[0m, last invalid: died"
    (line,) = ask(folder, capsys, 10, *screen)[1]
    assert line == f"{counts} | now tornado-py313-debian json wrk c64"
    finish(folder, [SECOND], [4000])
    [last] = ask(folder, capsys, 20, "--columns", "30")[1]
    assert last == "[2/2] 0:00 left, 1 not valid,"


def test_a_control_counts_as_soon_as_it_was_measured(tmp_path: Path, capsys: Capture) -> None:
    one, two = null(1), solo("aiohttp", 2)
    folder = begun(tmp_path, capsys, one, two)
    finish(folder, [one], [4000])
    assert ": 4,000 requests/s; 0 not valid" in ask(folder, capsys, 1)[1][0]
    finish(folder, [two], [3000])
    assert ": invalid: loadgen-bound: " in ask(folder, capsys, 2)[1][0]


def test_a_step_without_an_end_is_an_error(tmp_path: Path, capsys: Capture) -> None:
    folder = a_run(tmp_path, solo("aiohttp", 1), solo("tornado", 2))
    assert ask(folder, capsys, 0)[0] == 2
    ask(folder, capsys, 0, "--begin")
    status, [said] = ask(folder, capsys, 1)
    assert status == 2 and "finished.json: step r01-0001 did not finish" in said
    write_finished(folder, id="r09-0009", end_ns=2)
    status, [said] = ask(folder, capsys, 1)
    assert status == 2 and "is of step r09-0009, not of r01-0001" in said


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    folder = a_run(tmp_path, solo("aiohttp", 1))
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr("bench.schedule.run_state.write_file", full)
    words = f"bench: cannot write to {folder}: No space left on device"
    assert ask(folder, capsys, 0, "--begin") == (2, [words])

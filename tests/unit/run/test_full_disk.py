"""A full disk at each kind of write: one line says so, no partial file counts as complete, and the run can resume."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from captured import Capture, printed, refused
from loop_runs import ask, block, finish, one_step, solo, step_id
from make_run import entry, output_of, write_measurement, write_run
from places import ROOT

from bench.__main__ import main
from bench.cli.measure import main as measure
from bench.cli.plan import UNKNOWN
from bench.core.files import check_room, write_file
from bench.run import folder as folder_module
from bench.schedule.step_file import write_step

FULL = "No space left on device"


class Disk:
    """A disk with room for `left` more files (None: any number)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        self.count = 0
        self._sync = os.fsync
        monkeypatch.setattr("bench.core.files.os.fsync", self._fsync)

    def _fsync(self, number: int) -> None:
        self.count += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._sync(number)

    def writes(self, job: Callable[[], object]) -> int:
        """How many files a job writes if there is room."""
        self.left, self.count = None, 0
        job()
        return self.count


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def temporary(folder: Path) -> list[str]:
    """Temporary files that were never renamed."""
    return [path.name for path in folder.rglob(".*") if path.is_file()]


def test_a_file_that_has_no_room_stays_what_it_was(tmp_path: Path, disk: Disk) -> None:
    write_file(tmp_path / "a", "old")
    disk.left = 0
    full = refused(OSError, write_file, tmp_path / "a", "new")
    assert FULL in str(full) and full.filename == str(tmp_path / "a")
    assert FULL in str(refused(OSError, check_room, tmp_path))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


def test_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: Disk, capsys: Capture) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("BENCH_CONTAINERS", "fresh")
    names = iter(range(100))
    monkeypatch.setattr(folder_module.time, "strftime", lambda *_: f"{next(names)}")
    monkeypatch.setattr(folder_module, "RESULTS", tmp_path)
    monkeypatch.setattr("bench.cli.plan.host_state", lambda: UNKNOWN)
    words = ["plan", "--quiet", "--stack", "aiohttp", "--scenario", "json", "--tool", "wrk"]
    count = disk.writes(lambda: main(words))
    assert count >= 5
    for left in range(count):
        capsys.readouterr()
        disk.left = left
        assert main(words) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1) and FULL in err and "free some space" in err
    assert len([*tmp_path.iterdir()]) == 1, "no folder is left that is no run"


def test_the_report(tmp_path: Path, disk: Disk, capsys: Capture) -> None:
    lines = [entry("aiohttp", number=1), entry("tornado", number=2)]
    write_run(tmp_path, lines)
    for line in lines:
        write_measurement(tmp_path, line, output_of(line, 4000))
    made = ("records.jsonl", "verdicts.jsonl", "report.md", "index.html")
    count = disk.writes(lambda: main(["build", "--quiet", str(tmp_path)]))
    whole = {name: (tmp_path / name).read_bytes() for name in made if (tmp_path / name).exists()}
    assert count >= 3
    for left in range(count):
        for name in whole:
            (tmp_path / name).unlink(missing_ok=True)
        capsys.readouterr()
        disk.left = left
        said = printed(capsys, "build", "--quiet", str(tmp_path), status=2)
        assert FULL in said and said.count("\n") == 1
        assert all((tmp_path / name).read_bytes() == text for name, text in whole.items() if (tmp_path / name).exists())
        assert not temporary(tmp_path)
    disk.left = None
    assert main(["build", "--quiet", str(tmp_path)]) == 0
    assert {name: (tmp_path / name).read_bytes() for name in whole} == whole


def measured(folder: Path) -> dict[str, str]:
    """The outcome of each complete measurement."""
    found = [json.loads(path.read_text()) for path in folder.glob("raw/r*/**/meta.json")]
    assert len({meta["id"] for meta in found}) == len(found)
    return {meta["id"]: meta["outcome"] for meta in found}


def test_between_two_steps(tmp_path: Path, disk: Disk, capsys: Capture) -> None:
    """Whichever file of a call of `next` has no room, the loop ends, and the next loop measures what is open."""
    lines = [solo("aiohttp", 1), solo("tornado", 2)]
    by_id = {line["id"]: line for line in lines}

    def run(folder: Path, left: int | None) -> int:
        """The last exit status of a loop whose disk is full after `left` files."""
        disk.left, options = left, ["--begin"]
        while (status := ask(folder, capsys, 1, *options)[0]) == 0:
            options, keep = [], disk.left
            finish(folder, [by_id[step_id(folder)]], [3000])
            disk.left = keep
        return status

    folder = write_run(tmp_path / "all", lines)
    count = disk.writes(lambda: run(folder, None))
    assert len(measured(folder)) == 2
    stopped = 0
    for left in range(count):
        folder = write_run(tmp_path / str(left), lines)
        status = run(folder, left)
        assert status in (2, 3)
        stopped += status == 2
        assert not temporary(folder)
        assert run(folder, None) == 3
        assert measured(folder) == {line["id"]: "measured" for line in lines}
    assert stopped == count


def test_a_window_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, disk: Disk) -> None:
    """Tools that write their output to a file do not report a full disk, so it is checked after they end."""
    lines = block(1, ("aiohttp",))
    folder = write_run(tmp_path, lines)
    write_step(folder, one_step(lines))

    def load(*_: object) -> None:
        disk.left = 0
        check_room(folder)

    monkeypatch.setattr("bench.load.in_turns.load_windows", load)
    monkeypatch.setattr(sys, "argv", ["measure", "run", str(folder)])
    assert measure() == 1
    words = f"cannot write {folder}/.room: {FULL}; free some space, or make it writable"
    assert capsys.readouterr().err == f"measure: {words}\n"

"""Requests of the load generator through the pipes, with fake cgroups."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from waiting import until

from bench.load.held import Freezer as Asker
from driver import counters
from driver.engines.freezer import ASK, TOLD, Freezer, served


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(counters, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(counters, "PROC", tmp_path / "proc")
    state(tmp_path).parent.mkdir(parents=True)
    state(tmp_path).write_text("THAWED\n")
    (tmp_path / "proc/11").mkdir(parents=True)
    (tmp_path / "proc/11/cgroup").write_text("5:freezer:/docker/one\n")
    return tmp_path


def state(folder: Path) -> Path:
    return folder / "cgroup/freezer/docker/one/freezer.state"


def freezer(pause: Callable[[str, str], bool] = lambda *_: False) -> Freezer:
    """The freezer of two services: `one` runs, `two` is gone."""
    return Freezer({"one": 11, "two": 12}, pause)


def comes(folder: Path, word: str) -> None:
    until(lambda: state(folder).read_text() == f"{word}\n")


def test_services_are_frozen_and_thawed_and_one_that_is_gone_is_not(folder: Path) -> None:
    with served(folder, freezer()):
        with Asker(folder).frozen(["one", "two"]) as frozen:
            assert frozen == {"one"} and state(folder).read_text() == "FROZEN\n"
        assert state(folder).read_text() == "THAWED\n"
    assert not (folder / ASK).exists() and not (folder / TOLD).exists()


def test_nothing_is_left_frozen_by_an_exception(folder: Path) -> None:
    with suppress(KeyError), served(folder, freezer()):
        assert Asker(folder)._tell("freeze", ["one"]) == ["one"]
        raise KeyError
    assert state(folder).read_text() == "THAWED\n"


def test_a_driver_that_is_killed_leaves_nothing_frozen(folder: Path) -> None:
    driver = os.fork()
    if not driver:
        with served(folder, freezer()):
            Asker(folder)._tell("freeze", ["one"])
            time.sleep(60)
    comes(folder, "FROZEN")
    os.kill(driver, signal.SIGKILL)
    os.waitpid(driver, 0)
    comes(folder, "THAWED")


def test_one_that_was_killed_itself_leaves_nothing_frozen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forked, fork = list[int](), os.fork
    monkeypatch.setattr(os, "fork", lambda: forked.append(fork()) or forked[-1])
    with served(folder, freezer()):
        Asker(folder)._tell("freeze", ["one"])
        os.kill(forked[0], signal.SIGKILL)
    assert state(folder).read_text() == "THAWED\n"


def test_version_2_is_frozen_once_the_kernel_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = folder / "cgroup/docker/one"
    group.mkdir(parents=True)
    (folder / "cgroup/cgroup.controllers").touch()
    (folder / "proc/11/cgroup").write_text("0::/docker/one\n")
    (group / "cgroup.freeze").write_text("0\n")
    (group / "cgroup.events").write_text("populated 1\nfrozen 1\n")
    monkeypatch.setattr("driver.engines.freezer.TRIES", 2)
    one = freezer()
    assert one.answer("freeze one") == "freeze one"
    assert (group / "cgroup.freeze").read_text() == "1\n"
    assert one.answer("thaw one") == "thaw"
    (group / "cgroup.events").write_text("populated 1\nfrozen 0\n")
    one.thaw_all()
    assert (group / "cgroup.freeze").read_text() == "0\n"


def test_the_engine_pauses_what_the_driver_may_not_freeze(folder: Path) -> None:
    state(folder).unlink()
    asked: list[tuple[str, ...]] = []
    one = freezer(lambda *words: not asked.append(words))
    assert [one.answer("freeze one two"), one.answer("thaw one")] == ["freeze one", "thaw one"]
    one.thaw_all()
    assert asked == [("pause", "one"), ("unpause", "one")]


def test_how_long_all_threads_have_run_and_waited(folder: Path) -> None:
    (state(folder).parent / "cgroup.procs").write_text("11\n13\n14\n")
    assert freezer().answer("threads one") == "threads one"  # a kernel without schedstat
    for pid, thread, words in ((11, 11, "1000 10 17"), (11, 12, "2000 20 17"), (13, 13, "4000 40 17")):
        place = folder / f"proc/{pid}/task/{thread}"
        place.mkdir(parents=True)
        (place / "schedstat").write_text(words + "\n")
    with served(folder, freezer()):
        asker = Asker(folder)
        assert asker.ran_and_waited_ns("one") == (7000, 70)
        assert asker.ran_and_waited_ns("two") is None

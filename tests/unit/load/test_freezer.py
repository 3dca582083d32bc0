"""Requests of the load generator to the host, through two pipes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from captured import Patch
from waiting import HANGS_S

from bench.load import held as freezer_module
from bench.load.held import ASK, TOLD, Freezer, freezer_of


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezer_module, "PATIENCE_S", HANGS_S)


@contextmanager
def host(folder: Path, says: Callable[[str], str | None]) -> Iterator[tuple[Freezer, list[str]]]:
    """A host that answers each line with `says(line)`; yields who asks it, and the lines."""
    for name in (ASK, TOLD):
        os.mkfifo(folder / name)
    asked: list[str] = []

    def serve() -> None:
        with (folder / ASK).open() as ask, (folder / TOLD).open("w") as told:
            for line in ask:
                asked.append(line.strip())
                if asked[-1] == "end":
                    return
                if (words := says(asked[-1])) is not None:
                    told.write(f"{words}\n")
                    told.flush()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    # Both ends of each pipe, so that no open() blocks.
    ends = [os.open(folder / name, os.O_RDWR | os.O_NONBLOCK) for name in (ASK, TOLD)]
    freezer = freezer_of(folder)
    assert freezer is not None
    yield freezer, asked
    os.write(ends[0], b"end\n")
    thread.join()
    for end in ends:
        os.close(end)


def test_without_pipes_nobody_is_asked(tmp_path: Path) -> None:
    assert freezer_of(tmp_path) is None


def test_services_are_frozen_meanwhile(tmp_path: Path) -> None:
    with host(tmp_path, lambda line: line.removesuffix(" two")) as (freezer, asked):
        with freezer.frozen(["one", "two"]) as names:
            assert names == {"one"}
        assert asked == ["freeze one two", "thaw one two"]


@pytest.mark.parametrize("says", ["threads", None, "freeze one 3 4"], ids=["no names", "silent", "something else"])
def test_a_host_that_does_not_tell_is_asked_once(tmp_path: Path, says: str | None, monkeypatch: Patch) -> None:
    if says is None:
        monkeypatch.setattr(freezer_module, "PATIENCE_S", 0.2)
    with host(tmp_path, lambda line: says) as (freezer, asked):
        assert [freezer.ran_and_waited_ns("one") for _ in range(2)] == [None, None]
    # After the host has ended, because on a busy machine it may read a line after the client gave up.
    assert asked == ["threads one", "end"]


def test_a_service_without_figures_leaves_the_others_theirs(tmp_path: Path) -> None:
    with host(tmp_path, lambda line: line if line.endswith("one") else f"{line} 7000 300") as (freezer, asked):
        for _ in range(2):
            assert (freezer.ran_and_waited_ns("one"), freezer.ran_and_waited_ns("two")) == (None, (7000, 300))
    assert asked == ["threads one", "threads two", "threads two", "end"]

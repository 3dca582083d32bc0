"""A disk that is really full: no step begins, and truncated files are not trusted."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from captured import refused
from loop_engine import LoopEngine, loop, outcomes
from loop_runs import make_loop, solo
from pretend_engine import made_run

from driver.failure import RUN, Failure
from driver.lifecycle.writer import NEEDED, need_room


@pytest.fixture
def small() -> Iterator[Path]:
    """A folder on a disk with one page less than a megabyte free."""
    # It is filled, and is memory.
    assert shutil.disk_usage("/full").total < 1 << 30
    folder = Path(tempfile.mkdtemp(dir="/full"))
    yield folder
    shutil.rmtree(folder)


def fill_up(folder: Path, left: int) -> None:
    """Fill the disk except for `left` bytes."""
    space = os.statvfs(folder)
    with (folder / "fill").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - left)


def test_no_step_begins_on_a_disk_with_less_than_a_megabyte(small: Path) -> None:
    run = made_run(small, "a")
    need_room(run, RUN)
    before = sorted(run.folder.iterdir())
    fill_up(small, NEEDED - os.statvfs(small).f_frsize)
    words = "cannot write to results/a-run: No space left on device; free some space"
    assert refused(Failure, need_room, run, RUN) == Failure(RUN, words)
    assert sorted(run.folder.iterdir()) == before


@pytest.mark.parametrize("moment", ["start", "state", "exec", "stop", "bench"])
def test_disk_that_fills_up_in_a_step(moment: str, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small)
    monkeypatch.setenv("BENCH_BEGAN", "0")
    monkeypatch.setenv("BENCH_QUIET", "1")
    make_loop(small, [solo("aiohttp", 1), solo("tornado", 2)], [3000, 4000])
    engine = LoopEngine(small)
    engine.when[moment] = lambda: fill_up(small, 0)
    assert "No space left on device" in str(refused((Failure, OSError), loop, engine))
    (small / "fill").unlink()
    engine.when.clear()
    for file in (small / "results").rglob("meta.json"):
        assert json.loads(file.read_text())["outcome"] == "measured"
    monkeypatch.setenv("BENCH_BEGAN", "1")
    assert loop(engine) == 3 and outcomes(small) == [("measured", "")] * 2
    assert not [path for path in (small / "results").rglob(".*.*") if path.is_file()]

"""A run is stopped before it meets a full disk, on a real one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pretend_engine import made_run

from driver.failure import RUN, Failure
from driver.lifecycle.room import NEEDED, need_room


@pytest.fixture
def small() -> Iterator[Path]:
    """A folder on a disk of which no more than a megabyte less one page is free."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def test_no_step_begins_on_a_disk_with_less_than_a_megabyte(small: Path) -> None:
    run = made_run(small, "a")
    need_room(run, RUN)
    before = sorted(run.folder.iterdir())
    space = os.statvfs(small)
    with (small / "fill").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize - NEEDED + space.f_frsize)
    with pytest.raises(Failure) as refused:
        need_room(run, RUN)
    words = "cannot write to results/a-run: No space left on device; free some space"
    assert (refused.value.status, refused.value.words) == (RUN, words)
    assert sorted(run.folder.iterdir()) == before

"""A file is whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from driver import files
from driver.docker import KEPT, run
from driver.files import last_line, save, text_of


def test_what_cannot_be_saved_leaves_what_was_there_and_no_part_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "folder" / "file"
    save(file, "first\n")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(file, "second\n")
    assert [(path.name, path.read_text()) for path in file.parent.iterdir()] == [("file", "first\n")]


def test_a_file_that_is_not_there_has_no_text_and_no_last_line(tmp_path: Path) -> None:
    assert (text_of(tmp_path / "none"), last_line(tmp_path / "none")) == (None, "")
    save(tmp_path / "log", "first\nlast words\n \n")
    assert last_line(tmp_path / "log") == "last words"


def test_of_a_command_that_may_say_anything_the_end_alone_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = run(["sh", "-c", "yes | head -c 300000; echo its last words; exit 3"], check=False, log=log, end_alone=True)
    assert (done.status, done.last_line, log.stat().st_size) == (3, "its last words", KEPT)

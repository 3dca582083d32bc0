"""The hash of a part of the project: names and content of its files, wherever the project lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.run.provenance import part_hashes


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "loadgen"
    folder.mkdir()
    (folder / "a").write_text("run 1\n")
    (folder / "b").write_text("run 2\n")
    return folder


def test_the_same_files_have_the_same_hash() -> None:
    assert part_hashes() == part_hashes()


def test_a_file_with_another_name_changes_it_and_no_other_part(project: Path) -> None:
    before = part_hashes()
    (project / "b").rename(project / "c")
    after = part_hashes()
    assert [part for part in before if before[part] != after[part]] == ["loadgen"]


def test_text_that_moves_from_one_file_to_the_next_changes_it(project: Path) -> None:
    before = part_hashes()["loadgen"]
    (project / "a").write_text("run 1\nrun 2\n")
    (project / "b").write_text("")
    assert part_hashes()["loadgen"] != before

"""Each file is followed once, and what shellcheck says stays that of the file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
import shellcheck_once

ENTRY = """#!/usr/bin/env bash
# shellcheck source=lib/a.sh
source lib/a.sh
# shellcheck source=lib/b.sh
source lib/b.sh
say "$name"
"""
FROM_B = '# shellcheck shell=bash\n# shellcheck source=lib/b.sh\nsource lib/b.sh\nsay() { echo "$1"; }\n'
SETS_NAME = "# shellcheck shell=bash\n# shellcheck source=lib/a.sh\nsource lib/a.sh\nname=one\n"


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """entry.sh sources a.sh and b.sh, which source each other."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "entry.sh").write_text(ENTRY)
    (tmp_path / "lib" / "a.sh").write_text(FROM_B)
    (tmp_path / "lib" / "b.sh").write_text(SETS_NAME)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_is_followed_where_bash_comes_to_it_first(scripts: Path) -> None:
    texts = shellcheck_once.followed_once("entry.sh")
    assert list(texts) == ["entry.sh", "lib/a.sh", "lib/b.sh"]
    assert texts["lib/a.sh"] == FROM_B
    assert texts["lib/b.sh"] == SETS_NAME.replace("source=lib/a.sh", "source=/dev/null")
    assert texts["entry.sh"] == ENTRY.replace("source=lib/b.sh", "source=/dev/null")


def test_what_a_sourced_file_sets_is_known(scripts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shellcheck_once.main(["entry.sh", "lib/a.sh"]) == 0
    assert capsys.readouterr().out == ""


def test_a_finding_has_its_file_and_line_and_fails(scripts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (scripts / "lib" / "a.sh").write_text(FROM_B + "echo $never_set\n")
    assert shellcheck_once.main(["entry.sh", "lib/a.sh"]) == 1
    out = capsys.readouterr().out
    assert "In lib/a.sh line 5:" in out and "SC2154" in out

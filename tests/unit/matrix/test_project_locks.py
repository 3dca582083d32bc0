"""The project's own pins, with a uv that pins whatever it is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.matrix.project_locks import relock_project

# Its lock: what stood there before (or "new"), what is asked for, and the constraints.
UV = """#!/usr/bin/env python3
import pathlib, sys
words = dict(zip(sys.argv, sys.argv[1:]))
out = pathlib.Path(words["--output-file"])
kept = out.read_text().split()[0] if out.exists() else "new"
limits = pathlib.Path(words["--constraint"]).read_text().split()[0] if "--constraint" in words else "free"
out.write_text(f"{kept} {pathlib.Path(sys.argv[-1]).read_text()} {limits}")
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose locks are up to date."""
    uv = tmp_path / "bin/uv"
    uv.parent.mkdir()
    uv.write_text(UV)
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:{os.environ['PATH']}")
    for folder, lock in (("bench", "old asked free"), ("tests", "old asked old")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "requirements.in").write_text("asked")
        (tmp_path / folder / "requirements.txt").write_text(lock)
    return tmp_path


def locks(root: Path) -> list[str]:
    return [(root / folder / "requirements.txt").read_text() for folder in ("bench", "tests")]


def test_pins_that_hold_are_kept(root: Path) -> None:
    assert relock_project(root, check=False, upgrade=False) == []
    assert locks(root) == ["old asked free", "old asked old"]


def test_a_stale_lock_is_named_and_written_only_without_check(root: Path) -> None:
    (root / "tests/requirements.in").write_text("more")
    assert relock_project(root, check=True, upgrade=False) == ["tests/requirements.txt"]
    assert locks(root) == ["old asked free", "old asked old"]
    assert relock_project(root, check=False, upgrade=False) == ["tests/requirements.txt"]
    assert locks(root) == ["old asked free", "old more old"]


def test_an_upgrade_starts_from_nothing_and_tests_take_the_new_versions_of_bench(root: Path) -> None:
    assert relock_project(root, check=False, upgrade=True) == ["bench/requirements.txt", "tests/requirements.txt"]
    assert locks(root) == ["new asked free", "new asked new"]

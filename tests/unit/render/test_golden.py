"""Each form of table, from raw files to report.md, byte for byte.

After a wanted change: `GOLDEN=write python -m pytest tests/unit/render/test_golden.py`, and read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden_runs import FORMS
from places import GOLDEN
from turns_runs import write_turns

from bench.cli.report import build_verb


@pytest.mark.parametrize("make", FORMS, ids=lambda make: make.__name__)
def test_report(make: Callable[[Path], Any], tmp_path: Path) -> None:
    folder = tmp_path / "a-run"
    make(folder)
    assert build_verb([str(folder)]) == 0
    golden = GOLDEN / f"{make.__name__}.md"
    report = (folder / "report.md").read_text()
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(report)
    assert report == golden.read_text()


def test_report_of_tables_in_turns(tmp_path: Path) -> None:
    report = write_turns(tmp_path / "a-run")
    golden = GOLDEN / "turns.md"
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(report)
    assert report == golden.read_text()

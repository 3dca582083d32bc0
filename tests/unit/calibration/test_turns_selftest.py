"""What short turns do to comparisons: the self-test `turns`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.core.errors import UserError
from calibration.turns import turns


def contrast(level: str, b: str, times: float, verdict: str, around: float = 0.02) -> dict[str, Any]:
    """A line of verdicts.jsonl: `b` serves `times` as much as the service "a"."""
    ends = [times * (1 - around) - 1, times * (1 + around) - 1]
    words = {"kind": "contrast", "scenario": "json", "tool": "wrk", "level": level, "a": "a", "b": b}
    return words | {"difference": times - 1, "interval": ends, "verdict": verdict}


def judged(folder: Path, *lines: dict[str, Any]) -> tuple[list[str], bool]:
    """The cells of the only table, and whether it holds."""
    (folder / "verdicts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    text, holds = turns([str(folder)])
    (row,) = text.splitlines()[2:]
    return [cell.strip() for cell in row.split("|")[1:-1]], holds


def table(long_times: float, *, others: int = 19) -> list[dict[str, Any]]:
    """`others` services at 1.5 times "a" in short and in long turns, and one that has `long_times` in long ones."""
    same = [contrast(level, f"b{n}", 1.5, "faster") for n in range(others) for level in ("c16", "c16t500")]
    return [*same, contrast("c16", "odd", 1.5, "faster"), contrast("c16t500", "odd", long_times, "faster", 0.001)]


def test_a_difference_is_within_the_interval_of_the_short_turns_or_not(tmp_path: Path) -> None:
    cells, holds = judged(tmp_path, *table(1.525))
    assert holds and cells[:2] == ["json wrk c16", "20"]
    assert cells[2:6] == ["2.0 %", "2.0 %", "0.0 %", "1.7 % (a to odd)"]
    assert cells[6:] == ["20", "0", "20 (100.0%)", "holds"]
    # The noise of the long turns is no excuse.
    wide = [*table(1.5), contrast("c16", "far", 1.5, "faster"), contrast("c16t500", "far", 1.6, "faster", 0.2)]
    cells, holds = judged(tmp_path, *wide)
    assert holds and cells[8] == "20 (95.2%)"


def test_more_than_one_in_twenty_outside_is_a_miss(tmp_path: Path) -> None:
    cells, holds = judged(tmp_path, *table(1.54, others=18))
    assert not holds and cells[8:] == ["18 (94.7%)", "MISSED"]
    assert judged(tmp_path, *table(1.54))[1]


def test_an_opposite_verdict_is_a_miss_however_few_they_are(tmp_path: Path) -> None:
    lines = [*table(1.5, others=99), contrast("c16", "up", 1.1, "faster"), contrast("c16t500", "up", 0.9, "slower")]
    cells, holds = judged(tmp_path, *lines)
    assert not holds and cells[7] == "1"


@pytest.mark.parametrize("level", ["c16", "c16t500"])
def test_a_run_with_one_kind_of_turns_is_an_error(tmp_path: Path, level: str) -> None:
    with pytest.raises(UserError, match="short and in long turns"):
        judged(tmp_path, contrast(level, "b", 1.5, "faster"))
    with pytest.raises(UserError, match="short and in long turns"):
        judged(tmp_path, contrast("c16", "b", 1.5, "faster"), contrast("c32t800", "b", 1.5, "faster"))

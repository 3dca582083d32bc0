"""How much of a quiet run's answer a run beside other work gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.core.errors import UserError
from calibration.quick import quick

LARGE = [("a", "b", "slower", -0.3), ("a", "c", "slower", -0.2), ("b", "c", "faster", 0.15)]
SMALL = [("c", "d", "slower", -0.04), ("b", "d", "not enough data", -0.3)]


def a_run(folder: Path, contrasts: list[tuple[str, str, str, float]], figures: str = "abcd") -> str:
    folder.mkdir()
    table = {"scenario": "json", "tool": "wrk", "level": "c16"}
    lines = [
        table | {"kind": "service", "service": name, "goodput": {"mean": 9.0} if name in figures else None}
        for name in "abcd"
    ]
    lines += [
        table | {"kind": "contrast", "a": a, "b": b, "verdict": verdict, "difference": size}
        for a, b, verdict, size in contrasts
    ]
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder)


def test_large_differences_must_be_called_from_whichever_side(tmp_path: Path) -> None:
    quiet = a_run(tmp_path / "quiet", [*LARGE, *SMALL])
    turned = [("b", "a", "faster", 0.4), ("c", "a", "faster", 0.3), ("c", "b", "slower", -0.12)]
    text, holds = quick([quiet, a_run(tmp_path / "other", turned)])
    assert holds
    assert "| differences above 10% that are called | 3 | 3 | holds |" in text


@pytest.mark.parametrize(
    ("contrasts", "line"),
    [
        (LARGE[:2], "that are called | 3 | 2 | MISSED"),
        ([*LARGE[:2], ("b", "c", "slower", -0.15)], "with the wrong sign | 3 | 1 | MISSED"),
    ],
)
def test_one_that_is_missing_or_wrong_is_said(
    tmp_path: Path, contrasts: list[tuple[str, str, str, float]], line: str
) -> None:
    quiet = a_run(tmp_path / "quiet", LARGE)
    text, holds = quick([quiet, a_run(tmp_path / "other", contrasts)])
    assert not holds
    assert line in text


def test_rows_without_figures_are_counted(tmp_path: Path) -> None:
    text, holds = quick([a_run(tmp_path / "one", LARGE, "abc")])
    assert not holds
    assert "| rows with figures | 4 | 3 | MISSED |" in text
    assert quick([a_run(tmp_path / "all", LARGE)])[1]


def test_a_quiet_run_must_have_large_differences(tmp_path: Path) -> None:
    quiet = a_run(tmp_path / "quiet", SMALL)
    with pytest.raises(UserError, match="no difference above 10%"):
        quick([quiet, a_run(tmp_path / "other", LARGE)])

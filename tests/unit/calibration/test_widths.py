"""How wide the intervals of a run's tables are."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from bench.core.errors import UserError
from calibration.widths import half_width, widths


def test_the_half_widths_are_those_of_all_differences(tmp_path: Path) -> None:
    table = {"kind": "contrast", "scenario": "json", "tool": "wrk", "level": "c16"}
    ends = [(0.9, 1.1, "no winner"), (1.99, 2.01, "faster"), (0.99, 1.01, "equal")]
    lines = [table | {"interval": [low - 1, high - 1], "verdict": word} for low, high, word in ends]
    lines += [table | {"interval": None, "verdict": "no winner"}, {"kind": "service"}]
    (tmp_path / "verdicts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    text, holds = widths([str(tmp_path)])
    assert holds and text.splitlines()[-1].split("|")[2:-1] == [
        f" {cell} " for cell in ("json wrk c16", "4", "1.0 %", f"{50 * math.log(1.1 / 0.9):.1f} %", "1", "1")
    ]
    assert half_width((-0.5, 1.0)) == pytest.approx(math.log(2))


def test_a_run_without_tables_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no table"):
        widths([str(tmp_path)])

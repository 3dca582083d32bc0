"""The share of load in the wall time of tables, from raw files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.core.errors import UserError
from tests.cost.load_share import load_share


def block(folder: Path, number: int, times_s: tuple[float, float], services: int, load_s: float) -> None:
    began_s, ended_s = times_s
    for place in range(services):
        window = folder / f"raw/r{number:02}/blocks/b1/json/wrk-c16/w1/service-{place}"
        window.mkdir(parents=True)
        turns = {"load_ns": int(load_s * 1e9), "drain_ns": 10**8}
        (window / "tool.json").write_text(json.dumps({"turns": turns}))
        (window / "meta.json").write_text(json.dumps({"begin_ns": int(began_s * 1e9), "end_ns": int(ended_s * 1e9)}))


@pytest.mark.parametrize(
    ("loads", "words", "status"),
    [
        ((8, 1.0), "73%: 16 of 22 s, and 2 s for answers under way | holds", 0),
        ((8, 0.5), "36%: 8 of 22 s, and 2 s for answers under way | MISSED", 1),
        ((2, 0.5), "9%: 2 of 22 s, and 0 s for answers under way | a goal from 8 services on", 0),
    ],
)
def test_load_is_compared_with_the_wall_time_of_blocks_and_between_them(
    loads: tuple[int, float], words: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    block(tmp_path, 1, (100, 110), *loads)
    block(tmp_path, 2, (112, 122), *loads)
    assert load_share([str(tmp_path)]) == status
    assert words in capsys.readouterr().out


def test_a_run_that_was_interrupted_has_no_wall_time_meanwhile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    block(tmp_path, 1, (100, 110), 8, 1.0)
    block(tmp_path, 2, (1000, 1010), 8, 1.0)
    assert load_share([str(tmp_path)]) == 0
    assert "80%: 16 of 20 s" in capsys.readouterr().out


def test_a_run_without_tables_has_no_share(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no table in turns"):
        load_share([str(tmp_path)])

"""What progress shows of a measurement is what the report would say of it, as far as it can be known by then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from make_run import entry, output_of, write_measurement, write_run

from bench.__main__ import main
from bench.drive.live_status import LONGEST

SIDES = tuple((window, side) for window in (1, 2) for side in "ab")


def a_run(folder: Path) -> list[dict[str, Any]]:
    plan = [entry("aiohttp", number=1), entry("aiohttp", number=2) | {"mode": "null", "service": "null"}]
    for window, side in SIDES:
        place = {"id": f"r01-0003-{window}{side}", "unit": "r01-0003", "mode": "duet", "pair": "p001", "side": side}
        plan.append(
            entry("tornado", number=3) | place | {"window": window, "dir": f"raw/r01/pairs/p001/{window}{side}"}
        )
    plan[1]["dir"] = "raw/r01/null/json/wrk-c64"
    write_run(folder, plan)
    return plan


def look(folder: Path, step: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["glance", str(folder), step]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return out.rstrip("\n").split("\t")


def test_a_valid_one_has_its_goodput(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = a_run(tmp_path)
    write_measurement(tmp_path, plan[0], output_of(plan[0], 3000))
    assert look(tmp_path, "r01-0001", capsys) == ["valid", "3,000 requests/s"]


def test_the_gate_refuses_here_as_in_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = a_run(tmp_path)
    write_measurement(tmp_path, plan[0], output_of(plan[0], 3000, 3000))
    state, words = look(tmp_path, "r01-0001", capsys)
    assert state == "invalid"
    assert words.startswith("invalid: ")
    assert "requests/s" not in words


def test_the_null_server_counts_as_soon_as_it_was_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = a_run(tmp_path)
    write_measurement(tmp_path, plan[0], output_of(plan[0], 3000))
    write_measurement(tmp_path, plan[1], output_of(plan[1], 4000))
    assert look(tmp_path, "r01-0001", capsys)[1].startswith("invalid: loadgen-bound: ")
    assert look(tmp_path, "r01-0002", capsys) == ["valid", "4,000 requests/s"]


@pytest.mark.parametrize("wrong", [None, *SIDES])
def test_a_pair_has_both_sides_or_a_cause(
    wrong: tuple[int, str] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in a_run(tmp_path)[2:]:
        bad = 3000 if (line["window"], line["side"]) == wrong else 0
        write_measurement(tmp_path, line, output_of(line, 3000 if line["side"] == "a" else 4000, bad))
    state, words = look(tmp_path, "r01-0003", capsys)
    if wrong is None:
        assert (state, words) == ("valid", "3,000 and 4,000 requests/s")
    else:
        assert state == "invalid"
        assert "requests/s" not in words


def test_nothing_that_was_measured_steers_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = a_run(tmp_path)
    folder = tmp_path / plan[0]["dir"]
    folder.mkdir(parents=True)
    detail = "\x1b[2J\ttab\nline \u202eback " + "long " * 100
    (folder / "meta.json").write_text(json.dumps({"id": plan[0]["id"], "outcome": "died", "detail": detail}))
    state, words = look(tmp_path, "r01-0001", capsys)
    assert state == "invalid"
    assert words.startswith("invalid: died: ?[2J tab line ?back")
    assert len(words) == LONGEST


def test_no_step_of_that_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_run(tmp_path)
    assert main(["glance", str(tmp_path), "r09-0001"]) == 2
    assert capsys.readouterr().err == "bench: no step 'r09-0001' is planned\n"

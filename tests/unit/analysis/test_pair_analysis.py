"""From the windows of pairs to verdicts, and which pairs need no more rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from make_run import entry, output_of, write_measurement
from pair_runs import SAME, steady, write_pairs

from bench.cli.report import build_verb


def verdicts_of(folder: Path) -> dict[str, dict[str, Any]]:
    assert build_verb([str(folder)]) == 0
    lines = (folder / "verdicts.jsonl").read_text().splitlines()
    return {f"{line['pair']} {line['judge']}": line for line in map(json.loads, lines)}


def test_a_slower_service_is_found_by_its_cpu_in_eight_rounds(tmp_path: Path) -> None:
    slow = steady(3800, 0.9 * 1.05 * 3800 / 4000)
    pairs = [("aa1", "aiohttp", "aiohttp", SAME, SAME), ("p001", "aiohttp", "tornado", SAME, slow)]
    folder = write_pairs(tmp_path / "a-run", pairs, 30, 8)
    found = verdicts_of(folder)["p001 CPU per request"]
    assert (found["verdict"], found["rounds"], found["settled"]) == ("slower", 8, True)
    assert found["difference"] == pytest.approx(1 / 1.05 - 1, abs=0.015)
    assert found["interval"][0] < found["difference"] < found["interval"][1] < 0
    report = (folder / "report.md").read_text()
    assert "| tornado-py313-debian | aiohttp-py313-debian | slower " in report
    assert "There are no solo windows." in report
    # Windows that were never started give no records and are not missing.
    assert len((folder / "records.jsonl").read_text().splitlines()) == 2 * 8 * 4


def test_identical_services_are_never_faster(tmp_path: Path) -> None:
    pairs = [(f"p{n:03}", "aiohttp", "tornado", SAME, SAME) for n in range(1, 13)]
    found = verdicts_of(write_pairs(tmp_path / "a-run", pairs, 30, 30))
    words = [line["verdict"] for line in found.values()]
    assert len(words) == 12 and set(words) <= {"no difference shown", "not enough data"}


def test_noise_of_the_controls_raises_what_is_called_a_difference(tmp_path: Path) -> None:
    apart, less = steady(4000 * 1.09, 0.9), steady(4000 * 1.06, 0.9)
    pairs = [("aa1", "aiohttp", "aiohttp", SAME, apart), ("p001", "aiohttp", "tornado", SAME, less)]
    folder = write_pairs(tmp_path / "a-run", pairs, 30, 8)
    found = verdicts_of(folder)
    # The service differs from itself by 9 %: 6 % are then no difference.
    assert found["p001 CPU per request"]["verdict"] == "no difference shown"
    assert "raised to the noise floor" in (folder / "report.md").read_text()


def test_goodput_is_the_metric_of_a_service_that_waits(tmp_path: Path) -> None:
    faster = steady(4400, 0.9)
    pairs = [("p001", "aiohttp", "tornado", SAME, faster)]
    found = verdicts_of(write_pairs(tmp_path / "a-run", pairs, 30, 8, scenario="delay-20"))
    assert found["p001 goodput"]["verdict"] == "faster"


def test_the_database_of_a_side_is_part_of_its_cpu_per_request(tmp_path: Path) -> None:
    pairs = [("p001", "aiohttp", "tornado", steady(4000, 0.9), steady(4000, 0.6))]
    folder = write_pairs(tmp_path / "a-run", pairs, 8, 8, scenario="db-raw")
    found = verdicts_of(folder)["p001 goodput"]
    assert found["goodput_difference"] == pytest.approx(0, abs=0.02)
    # 0.3 s of the database's on either side: 1.2 s to 0.9 s, and not 0.9 s to 0.6 s.
    assert found["cpu_difference"] == pytest.approx(1.2 / 0.9 - 1, abs=0.02)
    assert "| goodput | goodput per core | rounds |" in (folder / "report.md").read_text()
    for file in folder.rglob("database.*"):
        file.unlink()
    assert verdicts_of(folder)["p001 goodput"]["cpu_difference"] is None


def test_windows_of_errors_are_an_invalid_pair(tmp_path: Path) -> None:
    pairs = [("p001", "aiohttp", "tornado", SAME, SAME)]
    found = verdicts_of(write_pairs(tmp_path / "a-run", pairs, 30, 8, bad=2400))
    assert found["p001 CPU per request"]["verdict"] == "invalid: errors"


def test_windows_with_too_few_responses_for_their_connections_do_not_count(tmp_path: Path) -> None:
    pairs = [("p001", "aiohttp", "tornado", SAME, SAME)]
    found = verdicts_of(write_pairs(tmp_path / "a-run", pairs, 30, 8, level="c128"))
    assert found["p001 CPU per request"]["rounds"] == 0
    assert "16 windows with too few responses for their connections" in found["p001 CPU per request"]["flags"]


def test_all_pairs_of_a_table_give_a_winner(tmp_path: Path) -> None:
    best, worst = steady(4800, 0.9), steady(3200, 0.9)
    pairs = [
        ("p001", "aiohttp", "tornado", SAME, best),
        ("p002", "aiohttp", "uvicorn-asgi", SAME, worst),
        ("p003", "tornado", "uvicorn-asgi", best, worst),
    ]
    folder = write_pairs(tmp_path / "a-run", pairs, 30, 8)
    verdicts_of(folder)
    assert "Winner: tornado-py313-debian is faster than all others in this table." in (folder / "report.md").read_text()


def test_controls_of_rounds_for_pairs_alone_are_no_gaps(tmp_path: Path) -> None:
    pairs = [("p001", "aiohttp", "tornado", SAME, steady(3000, 0.9))]
    folder = write_pairs(tmp_path / "a-run", pairs, 30, 8)
    null = dict.fromkeys(("service", "server", "framework", "python", "base"), "null") | {"mode": "null"}
    lines = [entry(round=number, **null, **{"id": f"n{number}", "dir": f"raw/n{number}"}) for number in (8, 9)]
    write_measurement(folder, lines[0], output_of(lines[0], 90_000))
    with (folder / "plan.jsonl").open("a") as plan:
        plan.writelines(json.dumps(line) + "\n" for line in lines)
    verdicts_of(folder)
    report = (folder / "report.md").read_text()
    assert "not run" not in report
    assert "| 90,000 | 1 of 1 |" in report
    assert "There are no solo windows." in report
    assert "There is only one round" not in report

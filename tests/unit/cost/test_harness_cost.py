"""What the harness costs, from what scripts/harness-cost.sh saved."""

import json
from pathlib import Path

import pytest

from tests.cost.build_cost import build_cost
from tests.cost.harness_cost import TICKS_PER_S, LoadWindow, _page_figures, harness_cpu, read_samples


def history(folder: Path, name: str, layers: dict[str, int]) -> None:
    """One image's `docker history` as JSON lines; Docker gives sizes as text."""
    entries = [{"CreatedAt": "now", "CreatedBy": step, "Size": str(size)} for step, size in layers.items()]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def test_what_all_share_is_nobodys_and_what_two_share_counts_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history(tmp_path, "a", {"base": 10**9, "flask": 5 * 10**6, "gunicorn": 10**6, "CMD": 0})
    history(tmp_path, "b", {"base": 10**9, "flask": 5 * 10**6, "waitress": 3 * 10**6})
    history(tmp_path, "c", {"base": 10**9})
    (tmp_path / "builds").write_text("a 0 1000000000 5000000000\nb 0 2000000000 7000000000\n")
    assert build_cost([str(tmp_path / "builds"), str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "3 MB (3 services) | holds |" in out
    assert "3 s (6 s for 2) | holds |" in out


def test_a_service_that_does_not_build_and_one_that_is_too_large_miss_their_goals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    history(tmp_path, "a", {"base": 1, "huge": 200 * 10**6})
    history(tmp_path, "b", {"base": 1})
    (tmp_path / "builds").write_text("a 0 0 1\nb 0 0 1\nc 17 0 100000000000\n")
    assert build_cost([str(tmp_path / "builds"), str(tmp_path)]) == 1
    assert [line[-9:] for line in capsys.readouterr().out.splitlines()[2:]] == [" MISSED |"] * 3


def test_the_pages_goals_hold_or_are_missed_and_without_a_browser_say_so() -> None:
    rows = [figure.row() for figure in _page_figures({"page": 2.5, "first-picture": 1.5})]
    assert [row.split(" | ")[0] for row in rows] == [
        "| page of 5,000 measurements: made",
        "| page of 5,000 measurements: first picture",
        "| page of 5,000 measurements: an interaction",
    ]
    assert rows[0].endswith("| holds |") and rows[1].endswith("| MISSED |") and "not measured: no browser" in rows[2]


def stat(name: str, user: int, kernel: int) -> str:
    """A line of /proc/PID/stat."""
    return f"77 ({name}) S 1 77 77 0 -1 4194560 12 13 14 15 {user} {kernel} 16 17 20 0 1 0\n"


def test_only_the_harness_and_dockers_processes_count() -> None:
    counted = ("matrix.sh", "docker", "dockerd", "docker-compose", "containerd", "containerd-shim", "containerd-shim-r")
    others = ("bash", "matrix.shx", "dockerd) S (", "docker-proxy", "a docker", "wrk", "containerdx")
    text = "1000\n" + "".join(stat(name, 3, 4) for name in counted) + "".join(stat(name, 1, 1) for name in others)
    # One that ended while it was read has no whole line.
    text += "78 (dockerd) S 1 2\n2000\n3000\n" + stat("dockerd", 10, 1)
    assert list(read_samples(text)) == [(1000, 7 * len(counted)), (2000, 0), (3000, 11)]
    assert list(read_samples("")) == []


def test_the_harness_cpu_is_that_within_windows_alone() -> None:
    window = LoadWindow(fixed_s=1.0, start_ns=10 * 10**9, end_ns=14 * 10**9)
    # Before and after it the harness is busy; in it, 5 % of a core.
    samples = [(s * 10**9, s * TICKS_PER_S) for s in (8, 9)]
    samples += [(s * 10**9, round((9 + 0.05 * (s - 9)) * TICKS_PER_S)) for s in (10, 11, 12, 13, 14)]
    samples += [(15 * 10**9, 99 * TICKS_PER_S)]
    cost = harness_cpu([window], samples)
    assert cost.value == pytest.approx(5) and cost.note == "over 4 s of load"
    assert harness_cpu([window], samples[:3]).value is None

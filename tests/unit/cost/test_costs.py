"""The cost of the harness, from the files that scripts/harness-cost.sh saves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.core.errors import UserError
from tests.cost.costs import (
    QUICK_ROWS,
    SERVERS,
    TICKS_PER_S,
    LoadWindow,
    build_cost,
    harness_cpu,
    load_share,
    own_app_cost,
    page_figures,
    quick_cost,
    read_samples,
)


def history(folder: Path, name: str, layers: dict[str, int]) -> None:
    """`docker history` of an image as JSON lines, in which sizes are text."""
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
    rows = [figure.row() for figure in page_figures({"page": 2.5, "first-picture": 1.5})]
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
    # A process that ended while it was read has an incomplete line.
    text += "78 (dockerd) S 1 2\n2000\n3000\n" + stat("dockerd", 10, 1)
    assert list(read_samples(text)) == [(1000, 7 * len(counted)), (2000, 0), (3000, 11)]
    assert list(read_samples("")) == []


def test_the_harness_cpu_is_that_within_windows_alone() -> None:
    window = LoadWindow(fixed_s=1.0, start_ns=10 * 10**9, end_ns=14 * 10**9)
    # The harness is busy before and after the window, and uses 5 % of a core in it.
    samples = [(s * 10**9, s * TICKS_PER_S) for s in (8, 9)]
    samples += [(s * 10**9, round((9 + 0.05 * (s - 9)) * TICKS_PER_S)) for s in (10, 11, 12, 13, 14)]
    samples += [(15 * 10**9, 99 * TICKS_PER_S)]
    cost = harness_cpu([window], samples)
    assert cost.value == pytest.approx(5) and cost.note == "over 4 s of load"
    assert harness_cpu([window], samples[:3]).value is None


def block(folder: Path, number: int, times_s: tuple[float, float], services: int, load_s: float) -> None:
    began_s, ended_s = times_s
    for place in range(services):
        window = folder / f"raw/r{number:02}/b1/json/wrk-c16/w1/service-{place}"
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


def run(folder: Path, ranked: int) -> str:
    lines = [{"kind": "service", "service": f"s{number}", "rank": number} for number in range(1, ranked + 1)]
    lines += [{"kind": "service", "service": "lost", "rank": None}, {"kind": "contrast", "a": "s1", "b": "s2"}]
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder)


@pytest.mark.parametrize(
    ("ranked", "seconds", "status"),
    [(SERVERS, (280, 30), 0), (SERVERS, (301, 30), 1), (SERVERS, (280, 37), 1), (SERVERS - 1, (280, 30), 1)],
    ids=["both hold", "too long", "builds too long", "one has no rank"],
)
def test_what_is_missed(
    ranked: int, seconds: tuple[int, int], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spans = [f"{name}=1,{taken * 10**9 + 1}" for name, taken in zip(("own-run", "own-rebuild"), seconds, strict=True)]
    assert own_app_cost([run(tmp_path, ranked), *spans]) == status
    assert f"{ranked} of {SERVERS} servers ranked" in capsys.readouterr().out


@pytest.mark.parametrize(("ranked", "seconds", "status"), [(QUICK_ROWS, 239, 0), (QUICK_ROWS, 241, 1), (15, 200, 1)])
def test_quick_counts_with_all_its_rows(
    ranked: int, seconds: int, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quick_cost([run(tmp_path, ranked), f"quick=1,{seconds * 10**9 + 1}"]) == status
    assert f"{ranked} of {QUICK_ROWS} rows ranked" in capsys.readouterr().out

"""`python3 -m driver next` and `measure` as the scripts call them, on containers that only pretend."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from loop_engine import outcomes
from loop_runs import block, make_loop, solo
from places import ROOT

NAMES = tuple(f"{stack}-py313-debian" for stack in ("aiohttp", "tornado"))


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_loop(tmp_path, [*block(1, ("aiohttp", "tornado")), solo("aiohttp", 9)], [3000, 4000, 3000])
    (tmp_path / "results/a-run/compose.yml").write_text("services: {}\n")
    docker = {"BENCH_DOCKER": str(ROOT / "tests/support/fake_docker"), "PROJECT": str(ROOT), "FAKE": str(tmp_path)}
    run = {"BENCH_ROOT": str(tmp_path), "BENCH_PROJECT": "bench-a-run", "BENCH_BEGAN": "0", "PYTHONPATH": str(ROOT)}
    for name, value in (docker | run | {"BENCH_ENGINE_KIND": "docker", "SERVER_CPUS": "0", "SEED": "1"}).items():
        monkeypatch.setenv(name, value)


def begin(verb: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "driver", verb, "a-run"], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def do(verb: str) -> tuple[int, str]:
    with begin(verb) as process:
        return process.wait(), process.communicate()[1]


def calls(root: Path) -> list[str]:
    text = (root / "calls").read_text().replace("bench-a-run-", "").replace("-1 ", " ").replace("-1\n", "\n")
    return [
        line for line in text.splitlines() if not line.startswith(("inspect", "exec loadgen python3 -m bench next"))
    ]


def test_the_loop_starts_loads_and_removes_and_tells_the_planner(tmp_path: Path) -> None:
    said = []
    while (status := do("next"))[0] == 0:
        said.append(status[1])
        assert do("measure") == (0, "")
    assert status[0] == 3 and outcomes(tmp_path) == [("measured", "")] * 3
    compose = f"compose --project-name bench-a-run --file {tmp_path}/results/a-run/compose.yml"
    fresh = "up --detach --no-deps --no-build --force-recreate --timeout 0"
    both = " ".join(NAMES)
    assert calls(tmp_path) == [
        f"{compose} --file {tmp_path}/results/a-run/block.yml {fresh} {both} loadgen",
        "exec loadgen env SEED=1 python3 -m bench turns ready results/a-run",
        f"update --cpuset-cpus 0 {both}",
        "exec loadgen env SEED=1 python3 -m bench turns load results/a-run",
        f"rm --force --volumes {both}",
        f"{compose} {fresh} {NAMES[0]} loadgen",
        "exec loadgen loadgen/measure prepare results/a-run",
        "exec loadgen loadgen/measure run results/a-run",
        f"rm --force --volumes {NAMES[0]}",
    ]


def test_a_planner_that_fails_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "next-fails").write_text("2")
    assert do("next") == (1, "next: the next step cannot be decided: bench: the plan cannot be read\n")


def test_an_interrupt_ends_a_step_at_once_and_it_is_measured_when_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hangs").write_text("r01-b1\n")
    assert do("next")[0] == 0
    with begin("measure") as process:
        until_loading(tmp_path)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait() == 130
    assert outcomes(tmp_path) == [] and not (tmp_path / "results/a-run/finished.json").exists()
    # What it left is not believed.
    left = tmp_path / "results/a-run/raw/r01/blocks/b1/json/wrk-c16/w1" / NAMES[1] / "tool.json"
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    (tmp_path / "hangs").unlink()
    (tmp_path / "silent").write_text(f"{NAMES[1]}\n")
    monkeypatch.setenv("BENCH_BEGAN", "1")
    assert (do("next")[0], do("measure")[0], do("next")[0]) == (0, 0, 0)
    assert [outcome for outcome, _ in outcomes(tmp_path)] == ["measured", "did not start"] and not left.exists()


def until_loading(root: Path) -> None:
    for _ in range(600):
        if (root / "calls").exists() and "turns load" in (root / "calls").read_text():
            return
        time.sleep(0.05)
    pytest.fail("it was not loaded")

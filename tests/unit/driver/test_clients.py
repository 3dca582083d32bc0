"""Several load generators on one service: when each begins, which one is named if it fails, and their clocks."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from loop_engine import LoopEngine, loop, outcomes
from loop_runs import make_loop, solo

from driver.steps.clients import load_by_clients
from driver.steps.measure import read_step

STEP = "results/a-run/raw/r01/0001"
FOLDER = f"{STEP}/json/wrk-c64/w1/aiohttp-py313-debian"
DOCKER = """#!/usr/bin/env bash
echo "$*" >>{calls}
[[ $2 == two ]] && ahead=30000000 || ahead=0
case $* in
*EPOCHREALTIME*) [[ ! -e {silent} ]] && while read -r; do echo "$((${{EPOCHREALTIME/[.,]/}} + ahead))000"; done ;;
*'find "$1"'*) mkdir -p {home} && : >{home}/SHA256SUMS && tar --create --directory {home} SHA256SUMS ;;
*--interactive*) cat >/dev/null ;;
esac
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoopEngine:
    monkeypatch.chdir(tmp_path)
    for name in ("BENCH_BEGAN", "BENCH_QUIET"):
        monkeypatch.setenv(name, "0")
    make_loop(tmp_path, [solo("aiohttp", 1, loadgens=2)], [3000])
    return LoopEngine(tmp_path)


def test_all_begin_at_one_moment_and_their_outputs_are_made_one(engine: LoopEngine, tmp_path: Path) -> None:
    (tmp_path / FOLDER / "client-2").mkdir(parents=True)
    (tmp_path / FOLDER / "client-2" / "left").touch()
    before = time.time_ns()
    assert loop(engine) == 3
    assert engine.calls("start")[0].endswith(" loadgens=2")
    one, two = sorted(engine.calls("client"))
    begin = int(re.findall(r"START_AT=(\d+)", one)[0])
    assert before + 10**9 <= begin < time.time_ns() + 10**9
    for number, call in enumerate((one, two), 1):
        words = f"env START_AT={begin} loadgen/measure run results/a-run client_{number}"
        assert call == f"client {number} {words}"
    assert engine.calls("exec") == [f"exec loadgen/measure {verb} results/a-run" for verb in ("prepare", "merge")]
    assert outcomes(tmp_path) == [("measured", "")]
    assert (tmp_path / FOLDER / "clients.tsv").read_text() == "-\t0\t0\n-\t0\t0\n"
    assert not (tmp_path / FOLDER / "client-2/left").exists()
    assert "client-2/tool.json" in json.loads((tmp_path / FOLDER / "meta.json").read_text())["sha256"]


def test_the_one_that_fails_is_named_and_nothing_is_made_of_what_the_other_has(
    engine: LoopEngine, tmp_path: Path
) -> None:
    engine.said = {"client 2": (12, "wrk ended with status 1")}
    assert loop(engine) == 3
    assert outcomes(tmp_path) == [("load tool failed", "client 2: wrk ended with status 1")]
    assert len(engine.calls("exec")) == 1 and not (tmp_path / FOLDER / "output.txt").exists()


def test_outputs_that_cannot_be_merged_are_the_load_tools_failure(engine: LoopEngine, tmp_path: Path) -> None:
    engine.said = {"merge": (12, "measure: it is wrong")}
    assert loop(engine) == 3
    assert outcomes(tmp_path) == [("load tool failed", "measure: it is wrong")]


@pytest.fixture
def nodes(engine: LoopEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoopEngine:
    """The load generators run on nodes one and two, and node two's clock is half a minute ahead."""
    docker = tmp_path / "docker"
    docker.write_text(DOCKER.format(calls=tmp_path / "asked", silent=tmp_path / "silent", home=tmp_path / "home"))
    docker.chmod(0o755)
    monkeypatch.setenv("BENCH_DOCKER", str(docker))
    engine.bench("next", "a-run", "--elapsed", "0", "--begin")
    (tmp_path / FOLDER).mkdir(parents=True)
    lines = ("server\tserver", "loadgen\tone", "loadgen-2\ttwo")
    (tmp_path / "results/a-run/nodes.tsv").write_text("".join(f"{line}\t{line.split()[1]}\t-\t-\n" for line in lines))
    return engine


def test_clocks_of_nodes_are_asked_and_each_begins_by_its_own(nodes: LoopEngine, tmp_path: Path) -> None:
    assert load_by_clients(nodes, read_step(nodes.run)) == 0
    clocks = [line.split("\t") for line in (tmp_path / FOLDER / "clients.tsv").read_text().splitlines()]
    assert [clock[0] for clock in clocks] == ["one", "two"]
    (one, near), (two, far) = ([int(number) for number in clock[1:]] for clock in clocks)
    assert abs(one) <= near and abs(two - 30 * 10**9) <= far and max(near, far) < 5 * 10**9
    begins = re.findall(r"--context (one|two) exec \S+ env START_AT=(\d+) ", (tmp_path / "asked").read_text())
    found = {node: int(begin) for node, begin in begins}
    assert found["two"] - found["one"] == two - one


def test_a_clock_that_cannot_be_asked_ends_the_step_and_is_no_start_at_another_moment(
    nodes: LoopEngine, tmp_path: Path
) -> None:
    (tmp_path / "silent").touch()
    assert load_by_clients(nodes, read_step(nodes.run)) == 1
    assert (tmp_path / STEP / "run.txt").read_text() == "client 1: its clock cannot be read\n"
    assert "START_AT" not in (tmp_path / "asked").read_text()

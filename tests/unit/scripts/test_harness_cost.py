"""The cost of the harness, from a run that only pretends to have measured; options that are gone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from places import ROOT

MATRIX = """#!/usr/bin/env bash
[[ $* == "--preset quick"* ]] || exit 2
[[ $* != *--max-time* ]] || exit 0
sleep 0.5
echo results/a-run/report.md
"""


def harness_cost(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    script = ["bash", str(root / "scripts/harness-cost.sh"), *options]
    return subprocess.run(script, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose scripts/matrix.sh takes half a second, with 0.3 s of load in turns and 0.1 s of other load."""
    (tmp_path / "scripts/lib").mkdir(parents=True)
    for name in ("scripts/harness-cost.sh", "scripts/lib/common.sh"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "scripts/matrix.sh").write_text(MATRIX)
    (tmp_path / "scripts/matrix.sh").chmod(0o755)
    ns = {"start_ns": 5 * 10**8, "end_ns": 6 * 10**8}
    for name, tool in {"r01/b1/w1/a": ns | {"turns": {"load_ns": 3 * 10**8}}, "r01/null": ns}.items():
        folder = tmp_path / "results/a-run/raw" / name
        folder.mkdir(parents=True)
        (folder / "tool.json").write_text(json.dumps(tool))
    return tmp_path


def test_it_prints_wall_time_the_share_of_load_and_its_own_cpu_time(project: Path) -> None:
    done = harness_cost(project)
    assert done.returncode == 0, done.stderr
    wall, load, cpu = done.stdout.splitlines()
    assert re.fullmatch(r"wall time: \d+ s", wall)
    share = re.fullmatch(r"load: 0 s, (\d+)% of it", load)
    assert share and 1 <= int(share[1]) <= 80
    assert re.fullmatch(r"CPU time of scripts, driver and Docker's client: \d+\.\d s, \d+\.\d% of a core", cpu)


def test_a_run_that_fails_is_no_figure(project: Path) -> None:
    (project / "scripts/matrix.sh").write_text("#!/bin/sh\necho it broke >&2\nexit 3\n")
    done = harness_cost(project)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.splitlines()[-2:] == ["it broke", "harness-cost.sh: the preset quick failed with status 3"]


@pytest.mark.parametrize("option", ["--builds", "--load", "--own-app", "--quick", "--network", "--long"])
def test_an_option_that_is_gone(option: str) -> None:
    done = harness_cost(ROOT, option)
    assert done.returncode == 2
    assert re.fullmatch(rf"harness-cost.sh: {option} is gone: .+\n", done.stderr)

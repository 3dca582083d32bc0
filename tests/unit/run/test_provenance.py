"""The machine and the project's state in run.json."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from captured import Patch
from places import ROOT

from bench import __version__
from bench.cli.arguments import parse_selection
from bench.cli.plan import make_run
from bench.run.provenance import HARNESS, STAGES, checkout, harness_hash, host_facts, part_hashes, provenance

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_machine_that_tells_all(tmp_path: Path) -> None:
    write(tmp_path / "proc/cpuinfo", "processor : 0\nmodel name\t: A CPU @ 3 GHz\nflags\t\t: fpu hypervisor sse\n")
    write(tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n")
    write(tmp_path / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n")
    write(tmp_path / "sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")
    write(tmp_path / "sys/devices/system/cpu/smt/active", "0\n")
    write(tmp_path / "sys/fs/cgroup/cgroup.controllers", "cpu\n")
    facts = host_facts(tmp_path)
    assert (facts["cpu"], facts["governor"], facts["turbo"]) == ("A CPU @ 3 GHz", "performance, powersave", "off")
    assert (facts["smt"], facts["virtual"], facts["cgroup"], facts["missing"]) == ("off", "yes", "v2", {})


def test_boost_says_on_in_other_words(tmp_path: Path) -> None:
    write(tmp_path / "sys/devices/system/cpu/cpufreq/boost", "1\n")
    assert host_facts(tmp_path)["turbo"] == "on"


def test_what_the_machine_hides_is_null_with_a_reason(tmp_path: Path) -> None:
    facts = host_facts(tmp_path)
    missing = {name for name, value in facts.items() if value is None}
    assert missing == {"governor", "turbo", "smt", "virtual"} == facts["missing"].keys()


def test_the_script_that_has_git_is_believed(tmp_path: Path) -> None:
    told = {"BENCH_COMMIT": COMMIT, "BENCH_BRANCH": ""}
    assert checkout(told, tmp_path) == {"commit": COMMIT, "branch": None}


@pytest.mark.parametrize("packed", [False, True])
def test_without_git_its_files_are_read(packed: bool, tmp_path: Path) -> None:
    write(tmp_path / ".git/HEAD", "ref: refs/heads/gevent\n")
    if packed:
        write(tmp_path / ".git/packed-refs", f"# pack-refs\n{COMMIT} refs/heads/gevent\n")
    else:
        write(tmp_path / ".git/refs/heads/gevent", f"{COMMIT}\n")
    assert checkout({}, tmp_path) == {"commit": COMMIT, "branch": "gevent"}


def test_a_detached_head_has_no_branch_and_a_folder_without_git_neither(tmp_path: Path) -> None:
    assert checkout({}, tmp_path) == {"commit": None, "branch": None}
    write(tmp_path / ".git/HEAD", f"{COMMIT}\n")
    assert checkout({}, tmp_path) == {"commit": COMMIT, "branch": None}


def test_run_json_names_the_projects_state_by_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    told = {"BENCH_COMMIT": COMMIT, "BENCH_BRANCH": "sync", "BENCH_IMAGES": "bench/loadgen:latest=sha256:ab "}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("BENCH_VERSION", raising=False)
    harness = provenance()["harness"]
    assert (harness["version"], harness["commit"], harness["branch"]) == (COMMIT[:12], COMMIT, "sync")
    assert (harness["release"], harness["hash"]) == (__version__, harness_hash())
    assert harness["images"] == {"bench/loadgen:latest": "sha256:ab"}
    assert harness["parts"].keys() == set(HARNESS)
    assert len(set(harness["parts"].values())) == len(HARNESS)


def test_the_plans_files_are_in_run_json_by_their_hashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    options = parse_selection(["--stack", "aiohttp", "--python", "3.13", "--base", "debian"])
    folder = make_run(options, tmp_path / "run")
    hashes = json.loads((folder / "run.json").read_text())["sha256"]
    assert hashes.keys() == {p.name for p in folder.iterdir()} - {"run.json", "raw"}
    for name, wanted in hashes.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == wanted


def test_words_and_what_only_shows_figures_do_not_change_the_hash(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "bench/validity/run_rules.py", '"""The rules."""\n\nLIMIT = 1  # share\n')
    write(tmp_path / "scripts/lib/common.sh", "#!/bin/sh\n# Loads.\nload 1 # now\n")
    write(tmp_path / "bench/render/report.py", "title = 'a'\n")
    before = harness_hash()
    write(tmp_path / "bench/validity/run_rules.py", '"""What voids a run."""\nLIMIT = 1\n')
    write(tmp_path / "scripts/lib/common.sh", "#!/bin/sh\n# Loads one service.\nload 1 # now\n")
    write(tmp_path / "bench/render/report.py", "title = 'b'\n")
    write(tmp_path / "bench/cli/report.py", "title = 'b'\n")
    assert harness_hash() == before


def test_the_hash_is_the_same_in_each_process(tmp_path: Path) -> None:
    write(tmp_path / "bench/stats/words.py", "found = word in {'one', 'two', 'three', 'four'}\n")
    script = "from bench.run.provenance import harness_hash; print(harness_hash())"
    environments = [{"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed} for seed in ("1", "2", "3")]
    hashes = {subprocess.check_output([sys.executable, "-c", script], cwd=tmp_path, env=env) for env in environments}
    assert len(hashes) == 1


DECIDING = [
    ("bench/validity/run_rules.py", "LIMIT = 2\n", "judge"),
    ("bench/analysis/tables/observations.py", "LEAST = 2\n", "judge"),
    ("scripts/lib/common.sh", "#!/bin/sh\nload 2\n", "measure"),
    ("scripts/lib/common.sh", "#!/bin/bash\nload 1\n", "measure"),
    ("bench/load/knee_search.py", "START = 100\n", "measure"),
    ("bench/events/reload/cases.py", "CASES = 2\n", "measure"),
    ("bench/events/reload/figures.py", "FIGURES = 2\n", "judge"),
]


@pytest.mark.parametrize(("name", "text", "stage"), DECIDING)
def test_what_decides_a_figure_changes_the_hash_of_its_stage(
    name: str, text: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "bench/validity/run_rules.py", "LIMIT = 1\n")
    write(tmp_path / "scripts/lib/common.sh", "#!/bin/sh\nload 1\n")
    before = provenance()["harness"]
    write(tmp_path / name, text)
    after = provenance()["harness"]
    assert after["hash"] != before["hash"]
    assert [name for name in STAGES if after["stages"][name] != before["stages"][name]] == [stage]


def test_every_part_of_a_stage_exists() -> None:
    assert [part for part in HARNESS if not any(ROOT.glob(part))] == []


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "loadgen"
    folder.mkdir()
    (folder / "a").write_text("run 1\n")
    (folder / "b").write_text("run 2\n")
    return folder


def test_a_file_with_another_name_changes_it_and_no_other_part(project: Path) -> None:
    before = part_hashes()
    (project / "b").rename(project / "c")
    after = part_hashes()
    assert [part for part in before if before[part] != after[part]] == ["loadgen"]


def test_text_that_moves_from_one_file_to_the_next_changes_it(project: Path) -> None:
    before = part_hashes()["loadgen"]
    assert part_hashes()["loadgen"] == before
    (project / "a").write_text("run 1\nrun 2\n")
    (project / "b").write_text("")
    assert part_hashes()["loadgen"] != before

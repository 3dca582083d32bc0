"""What run.json says of the machine and of the project's state."""

from __future__ import annotations

from pathlib import Path

import pytest

from report.host import checkout, host_facts

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
def test_without_git_its_files_tell(packed: bool, tmp_path: Path) -> None:
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

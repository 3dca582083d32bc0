"""Counters of made-up cgroups, v1 and v2."""

import gzip
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from driver import counters

SAME = """cpu_usage_ns 5000
nr_throttled 3
throttled_ns 2000
memory_bytes 600
oom_kill 1
pids 7 9
ticks_7 66
proc_stat_cpu 1 2 3
irq_time unknown
"""
BOTH = pytest.mark.parametrize("version", [1, 2])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(counters, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(counters, "PROC", tmp_path / "proc")
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(release="no-such-kernel"))
    write(tmp_path, {"proc/stat": "cpu  1 2 3\n", "proc/7/stat": f"7 (a (hostile) 1 2 name) S{' 0' * 10} 60 6 900\n"})
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def container(folder: Path, version: int, path: str = "/docker/x", pid: int = 7) -> None:
    if version == 2:
        places, here = ["cgroup/", f"cgroup{path}/"], "0::"
        files = {"cpu.stat": "usage_usec 5\nnr_throttled 3\nthrottled_usec 2\n"}
        files |= {"memory.events": "oom 4\noom_kill 1\n", "memory.stat": "anon 500\nfile 300\nshmem 100\n"}
        write(folder, {"cgroup/cgroup.controllers": "cpu\n"})
    else:
        places = [f"cgroup/{name}{path}/" for name in ("cpu", "cpuacct", "memory")]
        here = "4:memory:{0}\n2:cpu,cpuacct:"
        files = {"cpuacct.usage": "5000\n", "cpu.stat": "nr_throttled 3\nthrottled_time 2000\n"}
        files["memory.oom_control"] = "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"
        files["memory.stat"] = "rss 1\nshmem 1\ntotal_cache 300\ntotal_rss 500\ntotal_shmem 100\n"
    write(folder, {f"proc/{pid}/cgroup": here.format(path) + f"{path}\n"})
    for place in places:
        write(folder, {place + name: text for name, text in {**files, "cgroup.procs": "7\n9\n"}.items()})


@BOTH
def test_both_versions_tell_the_same(folder: Path, version: int) -> None:
    container(folder, version)
    assert counters.counters(7) == f"cgroup v{version}\n{SAME}" and counters.usage(7) == (5000, 600)
    assert counters.below_root(7) == "/docker/x"
    assert (counters.oom_kills(7), counters.oom_kills(6)) == (1, None)


@BOTH
def test_a_container_that_is_gone_or_in_the_root_has_none(folder: Path, version: int) -> None:
    container(folder, version)
    container(folder, version, "/", pid=8)
    for pid in (6, 8):
        assert counters.counters(pid).startswith("null the container's cgroup cannot be read on this host\nproc_stat")
        assert counters.usage(pid) == (None, None) and counters.below_root(pid) == "/not-found"


@BOTH
def test_figures_of_a_cgroup_that_all_containers_share_are_null(folder: Path, version: int) -> None:
    container(folder, version, "/user/0123abcd")
    assert counters.unreadable("0123abcd", 7) == ""
    container(folder, version, "/user")
    reason = counters.unreadable("0123abcd", 7)
    assert reason.startswith("this engine's containers have no cgroups of their own")
    assert counters.counters(7, reason).startswith(f"null {reason}\nproc_stat_cpu 1 2 3\n")
    assert counters.unreadable("0123abcd", 6) == reason


CONFIGS = [
    ("", "unknown"),
    ("CONFIG_TICK_CPU_ACCOUNTING=y\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n", "in_tasks"),
    ("CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_IRQ_TIME_ACCOUNTING=y\n", "apart"),
]


@pytest.mark.parametrize(("config", "expected"), CONFIGS)
def test_irq_time_is_what_the_kernel_was_built_with(folder: Path, config: str, expected: str) -> None:
    (folder / "proc/config.gz").write_bytes(gzip.compress(config.encode()))
    assert counters.counters(8).endswith(f"\nirq_time {expected}\n")

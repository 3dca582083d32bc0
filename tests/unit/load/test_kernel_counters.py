"""Reading the kernel's counters, from a made-up /proc and /sys/fs/cgroup."""

from __future__ import annotations

from pathlib import Path

import pytest
from captured import Patch
from waiting import until

from bench.load import kernel_counters
from bench.load.kernel_counters import Seen, Watch, counters, limits, look, ports_waiting, sysctls


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "proc"
    folder.mkdir()
    (folder / "stat").write_text("cpu  1 2 3\ncpu0 1 2 3\ncpu1 4 5 6\ncpu12 7 8 9\nintr 1\n")
    monkeypatch.setenv("PROC_ROOT", str(folder))
    monkeypatch.setenv("CGROUP_ROOT", str(tmp_path / "cgroup"))
    return folder


def test_version_2(proc: Path, tmp_path: Path) -> None:
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "cgroup/cgroup.controllers").touch()
    (tmp_path / "cgroup/cpu.stat").write_text("usage_usec 5\nnr_throttled 0\n")
    (tmp_path / "cgroup/memory.peak").write_text("")
    (proc / "pressure").mkdir()
    (proc / "pressure/cpu").write_text("some total=7\n")
    (proc / "self").mkdir()
    (proc / "self/status").write_text("Cpus_allowed:\t1\nCpus_allowed_list:\t1,11-12\n")
    found = counters()
    assert found["loadgen"] == {"cpu.stat": "usage_usec 5\nnr_throttled 0"}
    assert found["missing"]["loadgen"].keys() == {"cpu.pressure", "memory.peak", "memory.current"}
    assert found["missing"]["loadgen"]["memory.peak"] == f"cannot read {tmp_path}/cgroup/memory.peak"
    assert (found["pressure_cpu"], found["proc_stat"]) == ("some total=7", "cpu  1 2 3")
    assert found["proc_stat_own"] == "cpu1 4 5 6\ncpu12 7 8 9"


def test_version_1_and_a_kernel_that_tells_little(proc: Path, tmp_path: Path) -> None:
    (tmp_path / "cgroup/cpuacct").mkdir(parents=True)
    (tmp_path / "cgroup/cpuacct/cpuacct.usage").write_text("77\n")
    found = counters()
    assert found["loadgen"] == {"cpuacct.usage": "77"}
    assert found["missing"]["pressure_cpu"] == f"cannot read {proc}/pressure/cpu"
    assert found["proc_stat_own"] == "" and "pressure_cpu" not in found
    (tmp_path / "cgroup/cpuacct/cpuacct.usage").unlink()
    assert "loadgen" not in counters()


def test_limits_and_settings(proc: Path) -> None:
    assert int(limits()["cpus"]) >= 1 and int(limits()["host_cpus"]) >= 1
    (proc / "sys/net/ipv4").mkdir(parents=True)
    (proc / "sys/net/ipv4/tcp_tw_reuse").write_text("2\n")
    assert sysctls()["net.ipv4.tcp_tw_reuse"] == "2"
    missing = f"cannot read {proc}/sys/net/ipv4/tcp_max_tw_buckets"
    assert sysctls()["missing"]["net.ipv4.tcp_max_tw_buckets"] == missing


@pytest.mark.parametrize(
    ("text", "ports"),
    [("sockets: used 1\nTCP: inuse 4 orphan 0 tw 9000 alloc 5 mem 1\n", 9000), ("TCP: inuse 4\n", 0), ("", 0)],
)
def test_ports_that_are_taken(text: str, ports: int, proc: Path) -> None:
    assert ports_waiting() == 0
    (proc / "net").mkdir()
    (proc / "net/sockstat").write_text(text)
    assert ports_waiting() == ports


def threads(proc: Path, process: int, name: str, waited: dict[int, int]) -> None:
    for number, waited_ns in waited.items():
        (proc / f"{process}/task/{number}").mkdir(parents=True)
        (proc / f"{process}/task/{number}/schedstat").write_text(f"10 {waited_ns} 1\n")
    (proc / f"{process}/comm").write_text(f"{name}\n")


def test_the_waits_of_all_of_a_tools_threads_and_of_no_other_process(proc: Path, monkeypatch: Patch) -> None:
    threads(proc, 8, "wrk", {8: 300, 9: 400})
    threads(proc, 7, "other", {7: 9000})
    seen = look("wrk")
    assert (seen.waited_ns, seen.threads) == (700, 2)
    (proc / "8/task/9/schedstat").unlink()
    assert look("wrk").threads == 1
    looked = list[str]()
    monkeypatch.setattr(kernel_counters, "look", lambda tool: looked.append(tool) or look(tool))
    with Watch("wrk") as watch:
        # Otherwise, 400 would be lost with the thread that has ended.
        (proc / "8/task/9/schedstat").write_text("10 400 1\n")
        until(lambda: watch.facts().get("waited_ns") == "700")
        (proc / "8/task/8/schedstat").unlink()
        looks = len(looked)
        until(lambda: len(looked) > looks + 1)
    assert (watch.facts()["waited_ns"], watch.facts()["threads"]) == ("700", "2")
    with Watch("hey") as silent:
        pass
    assert silent.facts()["missing"].startswith("no thread of the tool was seen at work")
    assert isinstance(seen, Seen) and seen.seen_ns > 1.6e18

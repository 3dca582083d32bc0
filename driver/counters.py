"""The cgroup counters (v1 and v2) of a container, found by the id of its first process, as lines `key value`.

These lines are the raw files SERVICE.before and SERVICE.after. Called as `python3 -m driver.counters WHAT PID` in a
container that sees another machine's cgroups and processes, it prints one of READINGS (driver/engines/nodes.py).
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from driver.files import text_of

CGROUPS, PROC = Path(os.environ.get("CGROUP_ROOT") or "/sys/fs/cgroup"), Path(os.environ.get("PROC_ROOT") or "/proc")
SHARED = "this engine's containers have no cgroups of their own that can be read on this machine (docs/engines.md)"
NOT_FOUND = "/not-found"


def is_v2() -> bool:
    """Whether this host has cgroup version 2."""
    return (CGROUPS / "cgroup.controllers").exists()


def cgroup(pid: int, controller: str) -> Path | None:
    """The cgroup of a process; None if the process is gone or in the root cgroup, which counts the whole host."""
    for line in (text_of(PROC / str(pid) / "cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if is_v2():
            root = CGROUPS if not controllers else None
        else:
            root = CGROUPS / controller if controller in controllers.split(",") else None
        if root and path.strip("/"):
            return root / path.lstrip("/")
    return None


def below_root(pid: int) -> str:
    """The cgroup as a path below the root of the CPU counters, for readers that mount those elsewhere."""
    found = cgroup(pid, "cpuacct")
    return "/" + str(found.relative_to(CGROUPS if is_v2() else CGROUPS / "cpuacct")) if found else NOT_FOUND


def unreadable(container: str, pid: int) -> str:
    """Why the cgroups of an engine's containers cannot be read, judged by one container; empty if they can.

    They are unreadable if its process is on another machine, or if all containers share one cgroup.
    """
    return "" if container in below_root(pid) else SHARED


def counters(pid: int, why_not: str = "") -> str:
    """All counters of a container. `why_not`: the reason why this engine's cannot be read, if so."""
    lines = [f"null {why_not}"] if why_not else list(_of_cgroup(pid))
    total = (text_of(PROC / "stat") or "").split("\n", 1)[0]
    lines += ["proc_stat_cpu " + " ".join(total.split()[1:]), f"irq_time {irq_time()}"]
    return "".join(f"{line}\n" for line in lines)


def _of_cgroup(pid: int) -> Iterator[str]:
    account, cpu = cgroup(pid, "cpuacct"), cgroup(pid, "cpu")
    used_ns, memory_bytes = usage(pid)
    if account is None or used_ns is None:
        yield "null the container's cgroup cannot be read on this host"
        return
    yield f"cgroup {'v2' if is_v2() else 'v1'}"
    stat = _pairs(cpu / "cpu.stat") if cpu else {}
    throttled_us = stat.get("throttled_usec")
    values = {
        "cpu_usage_ns": used_ns,
        "nr_throttled": stat.get("nr_throttled"),
        "throttled_ns": stat.get("throttled_time") if throttled_us is None else 1000 * throttled_us,
        "memory_bytes": memory_bytes,
        "oom_kill": oom_kills(pid),
    }
    yield from (f"{name} {value}" for name, value in values.items() if value is not None)
    yield from _processes(account)


def usage(pid: int) -> tuple[int | None, int | None]:
    """A container's CPU time so far in ns, and its memory in bytes; None where unknown."""
    return _cpu_ns(cgroup(pid, "cpuacct")), _memory_bytes(cgroup(pid, "memory"))


def _cpu_ns(folder: Path | None) -> int | None:
    if folder and is_v2():
        used = _pairs(folder / "cpu.stat").get("usage_usec")
        return None if used is None else 1000 * used
    text = (text_of(folder / "cpuacct.usage") or "").strip() if folder else ""
    return int(text) if text else None


def _memory_bytes(folder: Path | None) -> int | None:
    """The anonymous and shared memory of all processes of a cgroup, without page cache; None if unknown.

    The kernel charges each page to a cgroup once, however many of its processes share it: this is the sum of the PSS
    that /proc/PID/smaps_rollup gives, which only root may read.
    """
    stat = _pairs(folder / "memory.stat") if folder else {}
    anonymous, shared = ("anon", "shmem") if is_v2() else ("total_rss", "total_shmem")
    return stat[anonymous] + stat.get(shared, 0) if anonymous in stat else None


def oom_kills(pid: int) -> int | None:
    """How many of a container's processes the kernel has killed for lack of memory; None if unknown."""
    folder = cgroup(pid, "memory")
    return _pairs(folder / ("memory.events" if is_v2() else "memory.oom_control")).get("oom_kill") if folder else None


def irq_time() -> str:
    """Whether the kernel accounts interrupts `apart` from tasks (and cgroups) or `in_tasks`.

    The report needs this to separate other programs' CPU time from the network's.
    """
    config = _kernel_config(PROC)
    if "CONFIG_IRQ_TIME_ACCOUNTING=y" in config:
        return "apart"
    return "in_tasks" if "CONFIG_TICK_CPU_ACCOUNTING" in config else "unknown"


@cache
def _kernel_config(proc: Path) -> str:
    try:
        return gzip.decompress((proc / "config.gz").read_bytes()).decode(errors="replace")
    except (OSError, EOFError):
        return text_of(Path(f"/boot/config-{os.uname().release}")) or ""


def threads_ns(procs: Path) -> tuple[int, int] | None:
    """Total time that the threads of a cgroup.procs file have run, and waited for a CPU, in ns.

    None if the kernel has no schedstat.
    """
    ran = waited = 0
    known = False
    for pid in (text_of(procs) or "").split():
        for thread in _entries(PROC / pid / "task"):
            fields = (text_of(PROC / pid / "task" / thread / "schedstat") or "").split()
            if len(fields) >= 2:
                known, ran, waited = True, ran + int(fields[0]), waited + int(fields[1])
    return (ran, waited) if known else None


def _processes(folder: Path) -> Iterator[str]:
    """The process ids (they show whether one was replaced), and the CPU time of each in clock ticks."""
    if (procs := text_of(folder / "cgroup.procs")) is None:
        return
    pids = procs.split()
    yield "pids " + " ".join(pids)
    for pid in pids:
        # The name (field 2) may contain spaces and brackets; field 3 begins after the last bracket.
        fields = (text_of(PROC / pid / "stat") or "").rpartition(") ")[2].split()
        if len(fields) > 12:
            yield f"ticks_{pid} {int(fields[11]) + int(fields[12])}"


def _entries(folder: Path) -> Sequence[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()


def _pairs(path: Path) -> dict[str, int]:
    words: list[list[str]] = [line.split() for line in (text_of(path) or "").splitlines()]
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdigit()}


READINGS: dict[str, Callable[[int, str], str]] = {
    "counters": counters,
    "below-root": lambda pid, why_not: NOT_FOUND if why_not else below_root(pid),
    "online-cpus": lambda *_: (text_of(Path("/sys/devices/system/cpu/online")) or "").strip(),
    "boot-id": lambda *_: (text_of(PROC / "sys/kernel/random/boot_id") or "").strip(),
}
"""Readings of a container or its machine, from the pid of its first process and why counters are unreadable (or "")."""


def main(argv: list[str]) -> None:
    """`WHAT PID`: prints a reading."""
    what, pid = argv
    print(READINGS[what](int(pid), ""), end="")
    if what == "counters":
        print(f"host_cpus {os.sysconf('SC_NPROCESSORS_ONLN')}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The kernel's counters of the load generator, as raw text; `bench.records` parses them."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.files import text_of
from driver.messages import cpu_list

SYSCTLS = ("net.ipv4.ip_local_port_range", "net.ipv4.tcp_tw_reuse", "net.ipv4.tcp_max_tw_buckets")
VERSION_1 = (
    "cpuacct/cpuacct.usage",
    "cpu/cpu.stat",
    "memory/memory.max_usage_in_bytes",
    "memory/memory.usage_in_bytes",
)
VERSION_2 = ("cpu.stat", "cpu.pressure", "memory.peak", "memory.current")
Facts = dict[str, Any]


def proc() -> Path:
    """/proc, or its replacement in tests."""
    return Path(os.environ.get("PROC_ROOT") or "/proc")


def counters() -> Facts:
    """The current counters; `missing` has the reason for each that cannot be read."""
    root = Path(os.environ.get("CGROUP_ROOT") or "/sys/fs/cgroup")
    loadgen: Facts = {}
    missing: Facts = {}
    for name in VERSION_2 if (root / "cgroup.controllers").exists() else VERSION_1:
        _add(loadgen, missing, name.rpartition("/")[2], root / name)
    facts: Facts = {"loadgen": loadgen} if loadgen else {}
    absent: Facts = {"loadgen": missing} if missing else {}
    _add(facts, absent, "pressure_cpu", proc() / "pressure/cpu")
    facts |= {"missing": absent} if absent else {}
    lines = (proc() / "stat").read_text().splitlines()
    return facts | {"proc_stat": lines[0].strip(), "proc_stat_own": "\n".join(_own_cpus(lines))}


def limits() -> Facts:
    """The effective limits of the load generator; `nofile` is None if unlimited."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return {
        "nofile": None if files == resource.RLIM_INFINITY else files,
        "cpus": len(os.sched_getaffinity(0)),
        "host_cpus": os.sysconf("SC_NPROCESSORS_ONLN"),
    }


def sysctls() -> Facts:
    """The network settings of the load generator; `missing` has the reason for each that cannot be read."""
    facts: Facts = {}
    missing: Facts = {}
    for name in SYSCTLS:
        _add(facts, missing, name, proc() / "sys" / name.replace(".", "/"))
    return facts | ({"missing": missing} if missing else {})


def ports_waiting() -> int:
    """The number of connections in TIME_WAIT; 0 if unknown."""
    lines = text_of(proc() / "net/sockstat").splitlines()
    words = next((line.split() for line in lines if line.startswith("TCP:")), [])
    return int(words[words.index("tw") + 1]) if "tw" in words else 0


def _add(facts: Facts, missing: Facts, name: str, file: Path) -> None:
    """Add a file's text to `facts`, or the reason why there is none to `missing`."""
    try:
        text = file.read_bytes().partition(b"\0")[0].decode(errors="replace")
    except OSError:
        text = ""
    if text:
        facts[name] = text.removesuffix("\n")
    else:
        missing[name] = f"cannot read {file}"


def _own_cpus(lines: list[str]) -> Iterator[str]:
    """The lines of /proc/stat for the CPUs that the load generator may use; none if unknown."""
    status = text_of(proc() / "self/status").splitlines()
    allowed = next((line.partition(":")[2].strip() for line in status if line.startswith("Cpus_allowed_list:")), "")
    names = {f"cpu{number}" for number in cpu_list(allowed)} if allowed else set[str]()
    for line in lines:
        name, _, counts = line.partition(" ")
        if name in names:
            yield f"{name} {counts.strip()}"


PAUSE_S = 0.1
NOT_SEEN = "no thread of the tool was seen at work: a short load, or a kernel without schedstat"


@dataclass(frozen=True, slots=True)
class Seen:
    """The time (ns since the epoch), how long (ns) the tool's threads had waited for a CPU by then, their number."""

    seen_ns: int
    waited_ns: int
    threads: int


class Watch:
    """A context manager that reads how long a tool's threads wait for a CPU, ten times a second while it runs.

    Reading after the load would be too late, because the kernel drops a thread's counters when it ends, and cgroup v1
    has no such counter.
    """

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._most: Seen | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def facts(self) -> Facts:
        """The reading with the longest wait: later ones lack threads that have already ended (such as wrk's)."""
        if self._most is None:
            return {"missing": NOT_SEEN}
        most = self._most
        return {"seen_ns": str(most.seen_ns), "waited_ns": str(most.waited_ns), "threads": str(most.threads)}

    def _look(self) -> None:
        while True:
            seen = look(self._tool)
            if seen.threads and (self._most is None or seen.waited_ns >= self._most.waited_ns):
                self._most = seen
            if self._ended.wait(PAUSE_S):
                return


def look(tool: str) -> Seen:
    """Sum up the waits of all threads of a tool."""
    root, waited, threads = str(proc()), 0, 0
    for process in _numbers(root):
        if text_of(Path(root, process, "comm")) != tool:
            continue
        for thread in _numbers(f"{root}/{process}/task"):
            words = text_of(Path(root, process, "task", thread, "schedstat")).split()
            if len(words) > 1:
                waited, threads = waited + int(words[1]), threads + 1
    return Seen(time.time_ns(), waited, threads)


def _numbers(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.isdecimal()]
    except OSError:  # the process has ended
        return []

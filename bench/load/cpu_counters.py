"""CPU time of a run's containers and their hosts, read inside the load generator.

The host's cgroup file system is mounted read-only at `HOST`, and the host says which folder belongs to which container.
Counters on other machines are requested over the network (`far_counters`). If the host says nothing, folders are found
without a Docker socket: Docker names a container's cgroup after its id, and its DNS resolves the first twelve digits of
the id.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.files import text_of
from bench.load.far_counters import FarCounters, boot_id
from bench.load.kernel_counters import limits
from bench.records.turns import ALL_TASKS, OURS_THERE, SERVER_CPUS, TICKS_PER_S

SHARED = ("postgres", "upstream")
"""Containers used by all services."""
_CONTAINER = re.compile(r"(?:docker-|libpod-)?([0-9a-f]{64})(?:\.scope)?\Z")
_DEEPEST = 5


def address_of(name: str) -> str | None:
    """The IPv4 address of a name; None if it has none."""
    try:
        return socket.gethostbyname(name)
    except OSError:
        return None


def find_cgroups(
    services: Iterable[str], root: Path, resolve: Callable[[str], str | None] = address_of
) -> dict[str, str]:
    """The folder of each service's container, relative to `root`; services that are not found are left out."""
    by_address = {address: service for service in services if (address := resolve(service))}
    folders: dict[str, str] = {}
    for folder in _containers(root):
        name = _CONTAINER.match(folder.name)
        address = resolve(name[1][:12]) if name else None
        if address in by_address:
            folders[by_address[address]] = str(folder.relative_to(root))
        if len(folders) == len(by_address):
            break
    return folders


def _containers(root: Path) -> Iterator[Path]:
    for top, names, _ in os.walk(root):
        if len(Path(top).relative_to(root).parts) >= _DEEPEST:
            names.clear()
        for name in [name for name in names if _CONTAINER.match(name)]:
            names.remove(name)
            yield Path(top) / name


HOST = Path("/host/cgroup")
"""The mount point of the host's cgroup file system, see services/common.yml."""
OWN = Path("/sys/fs/cgroup")
STAT = Path("/proc/stat")


def cgroup_root(host: Path = HOST) -> Path:
    """The root of the cgroups that count CPU time; cgroup v1 has a hierarchy for each controller."""
    return host / "cpuacct" if (host / "cpuacct").is_dir() else host


@dataclass(frozen=True, slots=True)
class Reading:
    """Counters at one time: CPU time of each readable container in ns, and the first line of /proc/stat in ticks.

    If the containers are on several machines, the ticks are summed over these.
    """

    cpu_ns: Mapping[str, int]
    host_ticks: tuple[int, ...]


class CpuCounters:
    """The counters of some containers; `folders` maps a name to its folder below `root`, or to its remote reader.

    `server_cpus` are the numbers of the CPUs on which services are loaded.
    """

    def __init__(
        self,
        folders: Mapping[str, str | FarCounters],
        root: Path | None = None,
        own_cgroup: Path = OWN,
        stat: Path = STAT,
        server_cpus: Iterable[int] = (),
    ) -> None:
        root = root or cgroup_root()
        self.server_cpus = tuple(sorted(server_cpus))
        self._far = {name: folder for name, folder in folders.items() if isinstance(folder, FarCounters)}
        self._files = {
            name: _usage_file(root / folder.lstrip("/")) for name, folder in folders.items() if isinstance(folder, str)
        }
        self._files["loadgen"] = _usage_file(
            own_cgroup if (own_cgroup / "cpu.stat").exists() else own_cgroup / "cpuacct"
        )
        self._all = _files_of_all(root)
        self._root = root
        self._stat = stat
        # Count each machine once, even if it has several readers.
        machines = {far.boot: far for far in self._far.values()}
        self._watched = [far for boot, far in machines.items() if not boot or boot != boot_id()]
        self._silent = {name: far for name, far in self._far.items() if name not in far.read([name])[0]}

    @property
    def host_cpus(self) -> tuple[int, ...]:
        """The number of CPUs of each machine, the load generator's first."""
        return (os.cpu_count() or 1, *(far.cpus for far in self._watched))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the containers, without the load generator."""
        return tuple(name for name in (*self._files, *self._far) if name != "loadgen")

    @property
    def missing(self) -> dict[str, str]:
        """The reason why a container's CPU time cannot be read, by its name."""
        here = {
            name: "its cgroup cannot be read in the load generator" for name, file in self._files.items() if not file
        }
        return here | dict.fromkeys(self._silent, "its cgroup cannot be read on its machine")

    def cpu_ns(self, name: str) -> int:
        """The CPU time of one container so far; 0 if it cannot be read."""
        if far := self._far.get(name):
            return far.read([name])[0].get(name, 0)
        file = self._files.get(name)
        return (_usage_ns(file) or 0) if file else 0

    def read(self, *names: str) -> Reading:
        """The current counters of these containers, of the load generator and of all tasks."""
        cpu_ns = {}
        for name in (*names, "loadgen"):
            file = self._files.get(name)
            if file is not None and (used := _usage_ns(file)) is not None:
                cpu_ns[name] = used
        if self._all and not self._watched:
            cpu_ns[ALL_TASKS] = sum(_usage_ns(file) or 0 for file in self._all)
            cpu_ns |= self._on_server_cpus((*names, "loadgen"), cpu_ns)
        ticks = read_ticks(self._stat)
        asked: dict[FarCounters, list[str]] = {far: [] for far in self._watched}
        for name in names:
            if far := self._far.get(name):
                asked.setdefault(far, []).append(name)
        for far, of in asked.items():
            used_there, ticks_there = far.read(of)
            cpu_ns |= used_there
            if far in self._watched:
                ticks = tuple(map(sum, zip(ticks, ticks_there, strict=True)))
        return Reading(cpu_ns, ticks)

    def _on_server_cpus(self, names: Sequence[str], cpu_ns: Mapping[str, int]) -> dict[str, int]:
        """CPU time on the server's CPUs, of all tasks and of these containers; the first one is the service.

        cgroup v2 does not count each CPU, so there it is the time that the kernel did not count as idle, and the time
        of the service alone.
        """
        folders = [self._root, *(file.parent for name in names if (file := self._files.get(name)))]
        used = [_usage_there_ns(folder, self.server_cpus) for folder in folders]
        known = [ns for ns in used if ns is not None]
        if len(known) == len(used):
            return {SERVER_CPUS: known[0], OURS_THERE: sum(known[1:])}
        busy = _busy_there_ns(self._stat, self.server_cpus)
        return {} if busy is None or names[0] not in cpu_ns else {SERVER_CPUS: busy, OURS_THERE: cpu_ns[names[0]]}


def limits_of(counters: CpuCounters) -> dict[str, Any]:
    """The limits for tool.json, with the numbers of CPUs and machines."""
    hosts, limited = counters.host_cpus, limits()
    limited["host_cpus"] = sum(hosts)
    if counters.server_cpus:
        limited["server_cpus"] = len(counters.server_cpus)
    if len(hosts) > 1:
        limited |= {"hosts": len(hosts), "least_host_cpus": min(hosts)}
    return limited


def read_ticks(stat: Path = STAT) -> tuple[int, ...]:
    """The first line of /proc/stat: the ticks of all CPUs, without guest time."""
    with stat.open() as lines:
        return tuple(map(int, lines.readline().split()[1:9]))


def _files_of_all(root: Path) -> list[Path]:
    """The counters whose sum is the CPU time of all tasks.

    cgroup v2 has no exact counter for the root, so its cgroups are added up, which leaves out kernel threads.
    """
    whole = root / "cpuacct.usage"
    return [whole] if whole.is_file() else sorted(root.glob("*/cpu.stat"))


def _usage_file(folder: Path) -> Path | None:
    for name in ("cpuacct.usage", "cpu.stat"):
        if (folder / name).is_file():
            return folder / name
    return None


def _usage_there_ns(folder: Path, cpus: Sequence[int]) -> int | None:
    each = text_of(folder / "cpuacct.usage_percpu").split()  # none: cgroup v2, or the container is gone
    return sum(int(each[cpu]) for cpu in cpus) if cpus and cpus[-1] < len(each) else None


def _busy_there_ns(stat: Path, cpus: Sequence[int]) -> int | None:
    """The time of these CPUs that was neither idle nor stolen, from /proc/stat, which counts in steps of 10 ms."""
    names = {f"cpu{cpu}" for cpu in cpus}
    cpu_ticks = [words[1:9] for line in stat.read_text().splitlines() if (words := line.split()) and words[0] in names]
    if not cpu_ticks or len(cpu_ticks) < len(names) or any(len(ticks) < 8 for ticks in cpu_ticks):
        return None
    return sum(int(ticks[at]) for ticks in cpu_ticks for at in (0, 1, 2, 5, 6)) * 10**9 // TICKS_PER_S


def _usage_ns(file: Path) -> int | None:
    words = text_of(file).split()
    if not words:  # the container is gone
        return None
    if file.name == "cpuacct.usage":
        return int(words[0])
    return int(words[words.index("usage_usec") + 1]) * 1000 if "usage_usec" in words else None

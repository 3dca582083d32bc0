"""CPU time of the containers of a run, and of the host, read from inside the load generator.

The host's cgroup file system is mounted read-only at `HOST`; the host says which folder of it is which container's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.records.turns import ALL_TASKS

HOST = Path("/host/cgroup")
"""Where services/common.yml mounts the host's cgroup file system."""
OWN = Path("/sys/fs/cgroup")
STAT = Path("/proc/stat")


def cgroup_root(host: Path = HOST) -> Path:
    """The root of the cgroups that count CPU time: version 1 has a hierarchy for each controller."""
    return host / "cpuacct" if (host / "cpuacct").is_dir() else host


@dataclass(frozen=True, slots=True)
class Reading:
    """One moment: CPU time of each container in ns (those that can be read), and /proc/stat's first line in ticks."""

    cpu_ns: Mapping[str, int]
    host_ticks: tuple[int, ...]


class CpuCounters:
    """The counters of some containers; `folders` maps a name to its folder below `root`."""

    def __init__(
        self, folders: Mapping[str, str], root: Path | None = None, own: Path = OWN, stat: Path = STAT
    ) -> None:
        root = root or cgroup_root()
        self._files = {name: _usage_file(root / folder.lstrip("/")) for name, folder in folders.items()}
        self._files["loadgen"] = _usage_file(own if (own / "cpu.stat").exists() else own / "cpuacct")
        self._all = _files_of_all(root)
        self._stat = stat

    @property
    def names(self) -> tuple[str, ...]:
        """The containers, without the load generator."""
        return tuple(name for name in self._files if name != "loadgen")

    @property
    def missing(self) -> dict[str, str]:
        """Why a container's CPU time cannot be read, by its name."""
        return {
            name: "its cgroup cannot be read in the load generator" for name, file in self._files.items() if not file
        }

    def cpu_ns(self, name: str) -> int:
        """The CPU time of one container so far; 0 where it cannot be read."""
        file = self._files.get(name)
        return (_usage_ns(file) or 0) if file else 0

    def read(self, *names: str) -> Reading:
        """The counters of the containers of these names, of the load generator and of all tasks, now."""
        cpu_ns = {}
        for name in (*names, "loadgen"):
            file = self._files.get(name)
            if file is not None and (used := _usage_ns(file)) is not None:
                cpu_ns[name] = used
        if self._all:
            cpu_ns[ALL_TASKS] = sum(_usage_ns(file) or 0 for file in self._all)
        with self._stat.open() as lines:
            return Reading(cpu_ns, tuple(map(int, lines.readline().split()[1:9])))


def _files_of_all(root: Path) -> list[Path]:
    """The counters whose sum is the CPU time of all tasks.

    Version 2 has no exact one for the root: its cgroups are added, without the kernel's own threads.
    """
    whole = root / "cpuacct.usage"
    return [whole] if whole.is_file() else sorted(root.glob("*/cpu.stat"))


def _usage_file(folder: Path) -> Path | None:
    for name in ("cpuacct.usage", "cpu.stat"):
        if (folder / name).is_file():
            return folder / name
    return None


def _usage_ns(file: Path) -> int | None:
    try:
        text = file.read_text()
    except OSError:  # the container is gone
        return None
    if file.name == "cpuacct.usage":
        return int(text)
    words = text.split()
    return int(words[words.index("usage_usec") + 1]) * 1000 if "usage_usec" in words else None

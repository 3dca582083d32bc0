"""The machine just before a run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.core.files import text_of
from bench.run.provenance import GOVERNORS

SAMPLE_S = 1.0


@dataclass(frozen=True, slots=True)
class HostState:
    """The machine just before the run; None if unknown. `busy` and `steal` are shares of all CPUs."""

    cpus: int | None = None
    busy: float | None = None
    steal: float | None = None
    governors: tuple[str, ...] = ()
    on_battery: bool | None = None


def cpu_times(proc_stat: str) -> tuple[int, ...]:
    """The times of all CPUs together, in ticks; () if they cannot be read."""
    line = next((line for line in proc_stat.splitlines() if line.startswith("cpu ")), "")
    words = line.split()[1:9]
    return tuple(map(int, words)) if len(words) == 8 and all(map(str.isdecimal, words)) else ()


def cpu_shares(before: str, after: str) -> tuple[float | None, float | None]:
    """(busy, stolen) as shares of all CPUs between two readings of /proc/stat; None if they cannot be computed."""
    spent = [new - old for old, new in zip(cpu_times(before), cpu_times(after), strict=False)]
    if not spent or sum(spent) <= 0:
        return None, None
    # user nice system idle iowait irq softirq steal
    steal, idle = spent[7], spent[3] + spent[4]
    return max(0.0, 1 - (idle + steal) / sum(spent)), max(0.0, steal / sum(spent))


def host_state(root: Path = Path("/"), pause: Callable[[float], object] = time.sleep) -> HostState:
    """The state of the host whose files are under `root`, with its CPU time over about a second."""
    before = text_of(root / "proc/stat")
    pause(SAMPLE_S)
    busy, steal = cpu_shares(before, text_of(root / "proc/stat"))
    supplies = root.glob("sys/class/power_supply/*")
    states = [text_of(path / "status") for path in supplies if text_of(path / "type") == "Battery"]
    on_battery = "Discharging" in states if states else None
    governors = tuple(sorted({text_of(path) for path in root.glob(GOVERNORS)} - {""}))
    return HostState(cpus=os.cpu_count(), busy=busy, steal=steal, governors=governors, on_battery=on_battery)

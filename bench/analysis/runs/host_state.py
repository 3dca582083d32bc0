"""The machine just before a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostState:
    """The machine just before the run; None where it is not known. `busy` and `steal` are shares of all CPUs."""

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
    """Busy and stolen shares of all CPUs between two readings of /proc/stat; None where there is nothing to divide."""
    pairs = list(zip(cpu_times(before), cpu_times(after), strict=False))
    spent = [new - old for old, new in pairs]
    if not spent or sum(spent) <= 0:
        return None, None
    # user nice system idle iowait irq softirq steal
    steal, idle = spent[7], spent[3] + spent[4]
    return max(0.0, 1 - (idle + steal) / sum(spent)), max(0.0, steal / sum(spent))

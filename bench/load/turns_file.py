"""The tool.json of a measurement in turns: what `loadgen/measure` saves of one that is made alone, and its turns."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.files import write_file
from bench.load.cpu_counters import CpuCounters
from bench.load.held_tool import HeldTool
from bench.load.kernel_counters import sysctls
from bench.load.turns import Turns
from bench.plan.measurement import Measurement
from bench.plan.running import NO_COUNTERS
from bench.tools import TOOLS


@dataclass(frozen=True, slots=True)
class WindowLoad:
    """What a window needs of one measurement: the tool's version, its command line, and the service's address."""

    planned: Measurement
    version: str
    argv: Sequence[str]
    peer: tuple[str, int]


@dataclass(frozen=True, slots=True)
class Span:
    """When a window began and ended by the time of day, and how long it was by a clock that nobody sets; ns."""

    began_ns: int
    ended_ns: int
    elapsed_ns: int

    @property
    def step_s(self) -> float:
        """By how many seconds the time of day was set in it."""
        return (self.ended_ns - self.began_ns - self.elapsed_ns) / 1e9


def save_turns(
    folder: Path,
    load: WindowLoad,
    tool: HeldTool,
    *,
    span: Span,
    turns: Turns,
    counters: CpuCounters,
    health: Mapping[str, Any],
) -> None:
    """Give the tool's output its name in `folder`, and write tool.json."""
    one = load.planned
    told = {
        "schema": 1,
        "tool": one.tool,
        "tool_version": load.version or None,
        "argv": [*load.argv],
        "stdin": None,
        "exit_status": _exit_status(tool, one.tool),
        "start_ns": span.began_ns,
        "end_ns": span.ended_ns,
        "elapsed_ns": span.elapsed_ns,
        "limits": _limits(counters),
        "sysctls": {name: value for name, value in sysctls().items() if name != "missing"},
        "health_after": health,
        "turns": _turns(turns, counters.missing | ({one.service: NO_COUNTERS} if one.url else {})),
    }
    (folder / ".output.txt.tmp").replace(folder / "output.txt")
    write_file(folder / "tool.json", json.dumps(told, separators=(",", ":")) + "\n")


def _exit_status(tool: HeldTool, name: str) -> int | None:
    """As a shell has it; 0 where a tool ended as one does that was told to."""
    status = tool.status
    if status is None or (tool.told and status == TOOLS[name].told_status):
        return 0 if tool.told else None
    return status if status >= 0 else 128 - status


def _turns(turns: Turns, missing: Mapping[str, str]) -> dict[str, Any]:
    """The part of tool.json that says what happened in a service's own turns."""
    return {
        "count": turns.count,
        "load_ns": turns.load_ns,
        "drain_ns": turns.drain_ns,
        "drains_cut": turns.drains_cut,
        "late": turns.late,
        "cpu_ns": turns.cpu_ns,
        "host_ticks": turns.host_ticks,
        "each_ns": turns.each_ns,
        "end": turns.end,
        "missing": dict(missing),
    }


def _limits(counters: CpuCounters) -> dict[str, Any]:
    hosts = counters.host_cpus
    limits: dict[str, Any] = {
        "nofile": os.sysconf("SC_OPEN_MAX"),
        "cpus": len(os.sched_getaffinity(0)),
        "host_cpus": sum(hosts),
    }
    if counters.server_cpus:
        limits["server_cpus"] = len(counters.server_cpus)
    return limits | ({"hosts": len(hosts), "least_host_cpus": min(hosts)} if len(hosts) > 1 else {})

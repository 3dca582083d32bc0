"""What the machine does just before a run: its load, its clock, its power."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from bench.analysis.runs.host_state import HostState, cpu_shares
from bench.run.provenance import GOVERNORS

SAMPLE_S = 1.0
SUPPLIES = "sys/class/power_supply/*"


def host_state(root: Path = Path("/"), pause: Callable[[float], object] = time.sleep) -> HostState:
    """The state of the host whose files are under `root`, with its CPU time over about a second."""
    before = _read(root / "proc/stat")
    pause(SAMPLE_S)
    busy, steal = cpu_shares(before, _read(root / "proc/stat"))
    states = [_read(path / "status") for path in root.glob(SUPPLIES) if _read(path / "type") == "Battery"]
    return HostState(
        cpus=os.cpu_count(),
        busy=busy,
        steal=steal,
        governors=tuple(sorted({_read(path) for path in root.glob(GOVERNORS)} - {""})),
        on_battery="Discharging" in states if states else None,
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""

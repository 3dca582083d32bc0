"""Counters and clocks that were read before and after a window.

The system clock may be set during a measurement: by `date --set`, the first NTP response, or a wake-up. wrk and ab
measure time with it. The harness also uses the monotonic clock, so it sees the difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bench.core.files import mapping
from bench.run.reader import Ends

LEAST_STEP_S, DRIFT = 0.1, 0.001
"""Smaller differences can come from the clocks' resolution (10 ms) or NTP's gradual correction (500 ppm, see
ntp_adjtime(2))."""
_V2_USAGE = re.compile(r"^usage_usec (\d{1,18})$", re.M | re.A)


def whole(value: Any) -> int | None:
    """The value as an int if it is a whole number or the digits of one, else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
    return value if isinstance(value, int) and abs(value) < 1 << 63 else None


def change(ends: Ends, key: str) -> int | None:
    """The increase of a counter over the window; None if unknown or negative (after a restart)."""
    before, after = (whole(end.get(key)) for end in ends)
    return after - before if before is not None and after is not None and after >= before else None


def span_s(start_ns: Any, end_ns: Any) -> float | None:
    """Seconds between two times in nanoseconds; None if one is unknown or the end precedes the start."""
    start, end = whole(start_ns), whole(end_ns)
    return (end - start) / 1e9 if start is not None and end is not None and end >= start else None


def lost_processes(ends: Ends) -> int | None:
    """The number of the container's processes that ended during the window, even if others replaced them."""
    before, after = (end.get("pids") for end in ends)
    return None if before is None or after is None else len(set(before.split()) - set(after.split()))


def oom_kills(ends: Ends) -> int:
    """The number of processes that the kernel killed during the load because memory ran out.

    If the service ended before its load began, there is no earlier count, and all kills so far count. The kernel's
    counter disappears with the container; the container engine's flag stays.
    """
    before, after = ends
    killed = change(ends, "oom_kill") if "oom_kill" in before else whole(after.get("oom_kill"))
    return killed or int(after.get("oom_killed") == "true")


def why_null(ends: Ends, whose: str) -> str:
    """Why a figure from a container's counters is null."""
    return next((end["null"] for end in ends if "null" in end), f"the {whose}'s counters do not include it")


def loadgen_cpu_s(tool: Mapping[str, Any] | None) -> float | None:
    """CPU seconds of the load generator over the window, from cpuacct.usage (cgroup v1) or cpu.stat (v2)."""
    ends = [_cgroup_cpu_ns(mapping(mapping((tool or {}).get(when)).get("loadgen"))) for when in ("before", "after")]
    return span_s(*ends)


def _cgroup_cpu_ns(counters: Mapping[str, Any]) -> int | None:
    usage = counters.get("cpuacct.usage")
    if isinstance(usage, str):
        return whole(usage.strip())
    found = _V2_USAGE.search(counters["cpu.stat"]) if isinstance(counters.get("cpu.stat"), str) else None
    return int(found[1]) * 1000 if found else None


def is_clock_step(step_s: float, elapsed_s: float) -> bool:
    """Whether a difference between the two clocks, over `elapsed_s` seconds, is a step."""
    return abs(step_s) > LEAST_STEP_S + DRIFT * elapsed_s


def clock_step_s(tool: Mapping[str, Any]) -> float | None:
    """By how many seconds the system clock was set while the tool ran; None if unknown."""
    start, end, elapsed = (whole(tool.get(key)) for key in ("start_ns", "end_ns", "elapsed_ns"))
    return None if start is None or end is None or elapsed is None else (end - start - elapsed) / 1e9


def ran_s(tool: Mapping[str, Any]) -> float | None:
    """Seconds that the tool ran, by the system clock, which is the most precise, unless it was set meanwhile."""
    elapsed, step_s = whole(tool.get("elapsed_ns")), clock_step_s(tool)
    if elapsed is not None and step_s is not None and is_clock_step(step_s, elapsed / 1e9):
        return elapsed / 1e9
    return span_s(tool.get("start_ns"), tool.get("end_ns"))

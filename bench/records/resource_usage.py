"""The resources that a measurement used (CPU, memory, start time), and other activity on the host.

The load generator's counters and /proc/stat are read in its container, immediately before and after the tool runs.
Those of the server, the database and the upstream are read from the host, slightly earlier and later, when they are
almost idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.core.files import mapping
from bench.own_app.compose_file import PREFIX as OWN_SERVICE
from bench.plan.measurement import Measurement
from bench.records.counters import change, loadgen_cpu_s, span_s, whole, why_null
from bench.records.evidence import Evidence
from bench.records.record import MEASURED
from bench.records.turns import ALL_TASKS, TICKS_PER_S, Turns
from bench.run.reader import Ends, Raw, ServiceFacts
from bench.tools import TOOLS
from driver.messages import ABSENT

Figures = dict[str, tuple[Any, str]]
"""Fields of a record, by name: (value, reason if None)."""

MIN_HOST_S = 1.0
"""Minimum CPU time, over all of the host's CPUs, for which ticks of 10 ms give meaningful shares."""
_TOO_SHORT = "the window is too short for /proc/stat, which counts in steps of 10 ms"


def resource_figures(raw: Raw, service: ServiceFacts, evidence: Evidence) -> Figures:
    """The fields of the record that come from counters."""
    planned, successes = evidence.planned, evidence.parsed.ok if evidence.parsed else None
    unmeasured = None if evidence.outcome == MEASURED else f"{evidence.outcome}: {evidence.detail}"
    no_tool = "tool.json does not say" if raw.tool is not None else unmeasured or "tool.json is missing"
    used = [
        (_cpu_s(ends), unmeasured or why_null(ends, whose))
        for whose, ends in (
            ("server", (raw.before, raw.after)),
            ("database", raw.database),
            ("upstream", raw.upstream),
            *raw.own_services.items(),
        )
    ]
    if evidence.turns is not None:
        used = [evidence.turns.cpu(name, unmeasured) for name in (planned.service, "postgres", "upstream")]
        used += [(cpu_s, "") for name, cpu_s in evidence.turns.cpu_s.items() if name.startswith(OWN_SERVICE)]
    (server_s, _), database = used[:2]
    absent = [at for at, ends in ((1, raw.database), (2, raw.upstream)) if ABSENT in ends[0]]
    counted = [one for at, one in enumerate(used) if at not in absent]
    no_counters = unmeasured or why_null((raw.before, raw.after), "server")
    loadgen_s = loadgen_cpu_s(raw.tool) if evidence.turns is None else evidence.turns.cpu("loadgen", None)[0]
    request_s, no_request = used[0]
    if planned.database and server_s is not None:
        request_s, no_request = None if database[0] is None else server_s + database[0], database[1]
    meta = raw.meta or {}
    no_rate = "the number of successes is unknown" if successes is None else "no CPU time was counted"
    # The counters of a service alone are read before the requests that lead in.
    lead = 0 if evidence.turns else whole(mapping(raw.tool).get("lead_requests")) or 0
    served = None if successes is None else successes + lead
    return {
        "server_cpu_s": used[0],
        "database_cpu_s": database,
        "loadgen_cpu_s": (loadgen_s, no_tool),
        "cpu_per_success_s": (
            request_s / served if request_s is not None and served else None,
            no_request if request_s is None else "the number of successes is unknown",
        ),
        "goodput_per_core": (
            served / request_s if request_s and served is not None else None,
            no_request if request_s is None else no_rate,
        ),
        "memory_loaded_bytes": (_memory(raw.after, service), no_counters),
        "memory_idle_bytes": (_memory(service.idle, service), why_null((service.idle, {}), "idle service")),
        "start_s": (
            span_s(meta.get("started_ns"), meta.get("ready_ns")),
            unmeasured or "the time when its container started was not saved",
        ),
        "image_bytes": (service.image_bytes, service.missing.get("image_id", "image.json does not say")),
        "throttled_s": (evidence.throttled_s, no_counters),
        "process_cpu_s": (_process_cpu_s((raw.before, raw.after)), no_counters),
        **_speed(raw.tool, evidence, successes, unmeasured),
        **_steady(raw.tool, evidence, successes),
        **_loadgen(raw.tool, planned, loadgen_s, evidence.wall_s, no_tool),
        **_host(
            raw,
            evidence.wall_s,
            [*counted, (loadgen_s, no_tool)],
            no_tool,
            evidence.turns,
        ),
    }


def _memory(counters: Mapping[str, str], service: ServiceFacts) -> int | None:
    size = whole(counters.get("memory_bytes"))
    return None if size is None else max(0, size - service.folder_bytes)


def _process_cpu_s(ends: Ends) -> tuple[float, ...] | None:
    """CPU seconds of each process that existed at the end, in descending order; None if they were not saved."""
    before, after = ends
    used = {key: whole(value) for key, value in after.items() if key.startswith("ticks_")}
    spent = [ticks - (whole(before.get(key)) or 0) for key, ticks in used.items() if ticks is not None]
    return tuple(sorted((max(0, ticks) / TICKS_PER_S for ticks in spent), reverse=True)) or None


def _cpu_s(ends: Ends) -> float | None:
    spent_ns = change(ends, "cpu_usage_ns")
    return None if spent_ns is None else spent_ns / 1e9


def _speed(
    tool: Mapping[str, Any] | None, evidence: Evidence, successes: int | None, unmeasured: str | None
) -> Figures:
    """Successes per second of the turns, without the time taken by other programs, and how busy the service was.

    The time taken by others is the time that the service's threads were runnable but waited for a CPU, as counted by
    the kernel. It is limited to the others' CPU time, because threads of a service also wait for each other.

    If it was not read, it is estimated as the others' CPU time x the share of it in which the service was runnable x
    the share of that in which the service did not get the CPU at once. Both shares grow with how busy the service is. A
    service that is always runnable gets half of the CPU beside one other program; if it got less, it was not.
    """
    turns, planned = evidence.turns, evidence.planned
    rated = None if planned.stopped and planned.rate is None else "loaded at a rate: its speed is that of its turns"
    if turns is None:
        reason = unmeasured or "measured alone: a table in turns is ranked by it"
        return {"speed": (None, reason), "server_busy_ratio": (None, reason)}
    cpu_s, no_cpu = turns.cpu(planned.service, unmeasured)
    used = _used(turns, planned.service, mapping((tool or {}).get("limits")), _throttled_s(evidence, turns))
    if used is None:
        reason = no_cpu if cpu_s is None else "the CPU time of other programs in the turns was not saved"
        return {"speed": (None, reason), "server_busy_ratio": (None, reason)}
    left_s, busy = used
    known = successes is not None and left_s > 0
    return {
        "speed": (
            successes / left_s if known and successes and not rated else None,
            unmeasured or rated or "the number of successes is unknown",
        ),
        "server_busy_ratio": (busy, ""),
    }


def _steady(tool: Mapping[str, Any] | None, evidence: Evidence, successes: int | None) -> Figures:
    """The figures of a window's steady part; None where there is none."""
    turns, service = evidence.turns.steady if evidence.turns else None, evidence.planned.service
    if turns is None or not successes:
        return {}
    share, cpu_s = successes * turns.share, turns.cpu_s.get(service)
    used = _used(turns, service, mapping((tool or {}).get("limits")), _throttled_s(evidence, turns))
    if evidence.planned.database and cpu_s is not None:
        cpu_s = cpu_s + turns.cpu_s["postgres"] if "postgres" in turns.cpu_s else None
    return {
        "steady_speed": (share / used[0] if used and used[0] > 0 else None, ""),
        "steady_goodput": (share / turns.seconds, ""),
        "steady_cpu_per_success_s": (cpu_s / share if cpu_s else None, ""),
    }


def _throttled_s(evidence: Evidence, turns: Turns) -> float:
    """Seconds of these turns for which a quota throttled the service, in equal parts over its window."""
    seconds = evidence.turns.seconds if evidence.turns else 0.0
    return (evidence.throttled_s or 0.0) * turns.seconds / seconds if seconds else 0.0


def _used(turns: Turns, service: str, limits: Mapping[str, Any], throttled_s: float) -> tuple[float, float] | None:
    """Seconds of turns without the time that other programs took, and how busy the service was; None if unknown.

    The kernel counts the time for which a quota throttled the service as waiting, for each of its workers: that is
    taken off, if anything too much of it, since it was counted over all windows of the block.
    """
    # Before `server_cpus` was saved, hosts with one or two CPUs always had one for the server.
    cpus = whole(limits.get("server_cpus")) or (1 if whole(limits.get("host_cpus")) in (1, 2) else None)
    cpu_s, others_s = turns.cpu_s.get(service), turns.others_s
    if cpu_s is None or others_s is None or not cpus or not turns.seconds:
        return None
    waited_s, workers = turns.waited_s(cpu_s), whole(limits.get("workers"))
    if waited_s is not None:
        waited_s = max(0.0, waited_s - throttled_s * (workers or 1))
    # A service with few workers may not be able to use all CPUs.
    wanted_s = cpu_s + (others_s if waited_s is None else min(waited_s, others_s))
    usable = cpus if workers is None else min(cpus, max(workers, wanted_s / turns.seconds))
    there_s = turns.seconds * usable
    others_s = max(0.0, min(others_s, there_s - cpu_s))
    if waited_s is None:
        ready = min(1.0, 2 * cpu_s / there_s, cpu_s / max(there_s - others_s, 1e-9))
        lost_s = others_s * ready**2
    else:
        lost_s = min(waited_s, others_s)
    busy = min(1.0, cpu_s / (there_s - lost_s)) if there_s > lost_s else 1.0
    return turns.seconds - lost_s / usable, busy


def _loadgen(
    tool: Mapping[str, Any] | None, planned: Measurement, cpu_s: float | None, wall_s: float | None, no_tool: str
) -> Figures:
    """How busy the load generator's CPUs were, and how long the tool waited for a CPU used by others.

    On few CPUs, threads of tools written in Go also wait for each other, which is no shortage of CPU. So the time is
    limited to what others used of the tool's CPUs.
    """
    facts, waits = mapping((tool or {}).get("limits")), mapping((tool or {}).get("waits"))
    cpus = whole(facts.get("cpus")) or 0
    usable = TOOLS[planned.tool].cpus(planned.threads, cpus)
    busy = cpu_s / wall_s / usable if cpu_s is not None and wall_s and usable else None
    seen_s = span_s((tool or {}).get("start_ns"), waits.get("seen_ns"))
    waited = whole(waits.get("waited_ns"))
    wait = waited / 1e9 / seen_s / usable if waited is not None and waited >= 0 and seen_s and usable else None
    others = _others_s(tool, cpu_s, wall_s)
    if wait is not None and wall_s and others is not None:
        wait = min(wait, others / wall_s / usable)
    reason = waits.get("missing")
    if planned.mode == "turns":
        reason = "in turns, how long the tool waited for a CPU is not read"
    return {
        "loadgen_busy_ratio": (busy, no_tool),
        "loadgen_wait_ratio": (wait, reason if isinstance(reason, str) and reason else no_tool),
    }


def _others_s(tool: Mapping[str, Any] | None, cpu_s: float | None, wall_s: float | None) -> float | None:
    """CPU seconds that others used on the load generator's CPUs."""
    ends = [str(mapping((tool or {}).get(when)).get("proc_stat_own", "")).splitlines() for when in ("before", "after")]
    times = [[_cpu_times(line) for line in lines] for lines in ends]
    if cpu_s is None or not wall_s or not times[0] or len(times[0]) != len(times[1]):
        return None
    idle = 0
    for before, after in zip(*times, strict=True):
        if before is None or after is None or after[3] < before[3]:
            return None
        idle += after[3] + after[4] - before[3] - before[4]
    return max(0.0, wall_s * len(times[0]) - idle / TICKS_PER_S - cpu_s)


def _host(
    raw: Raw,
    wall_s: float | None,
    used: Sequence[tuple[float | None, str]],
    no_tool: str,
    turns: Turns | None,
) -> Figures:
    """Shares of the host's CPU time: steal (taken by the hypervisor) and foreign (used by none of `used`).

    Busy time is computed as total minus idle time: the kernel measures idle time to the microsecond, but only samples
    the busy columns, which are off by several percent in a second.

    Some kernels do not charge interrupt time to tasks. Then the interrupt time of this measurement's own network
    traffic belongs to no cgroup, so interrupt time does not count as foreign; the same if the kernel is unknown.

    `turns` are the service's turns, if any. If turns and CPUs are sums over several machines, all noise is assumed to
    have been on the machine with the fewest CPUs.
    """
    limits = mapping((raw.tool or {}).get("limits"))
    cpus, least = whole(limits.get("host_cpus")), whole(limits.get("least_host_cpus"))
    share = cpus / least if cpus and least and least > 0 else 1.0
    lines = (mapping((raw.tool or {}).get(when)).get("proc_stat") for when in ("before", "after"))
    spent = _spent(lines, no_tool) if turns is None else _long_enough([*turns.host_ticks])
    if isinstance(spent, str):
        return {"steal_ratio": (None, spent), "foreign_ratio": (None, spent)}
    steal = (min(1.0, spent[7] / sum(spent) * share), "")
    unknown = [reason for cpu_s, reason in used if cpu_s is None]
    if not wall_s or not cpus or unknown:
        return {"steal_ratio": steal, "foreign_ratio": (None, (unknown or [no_tool])[0])}
    used_s = sum(cpu_s for cpu_s, _ in used if cpu_s is not None)
    in_tasks = raw.after.get("irq_time") == "in_tasks"
    if turns is None and raw.before.get("apart") == "yes":
        # Database and upstream may share a machine with either.
        server_s, *others, loadgen_s = (cpu_s or 0.0 for cpu_s, _ in used)
        beside = raw.database[0].get("beside")
        loadgen_s += sum(others) * (beside == "loadgen")
        server_s += sum(others) * (beside == "server")
        foreign = foreign_ratio(wall_s * cpus, spent, loadgen_s, in_tasks=in_tasks)
        return _worse(raw, steal[0], foreign, server_s, in_tasks=in_tasks)
    all_s = turns.cpu_s.get(ALL_TASKS) if turns else None
    foreign = foreign_ratio(wall_s * cpus, spent, used_s, in_tasks=in_tasks, all_s=all_s)
    return {"steal_ratio": steal, "foreign_ratio": (min(1.0, foreign * share), "")}


def _worse(raw: Raw, steal: float, foreign: float, server_s: float, *, in_tasks: bool) -> Figures:
    """The higher shares of two machines: that of the load generator, whose shares are given, and that of the server."""
    lines = (f"cpu {end.get('proc_stat_cpu', '')}" for end in (raw.before, raw.after))
    spent = _spent(lines, "the counters of the server's machine do not include it")
    if isinstance(spent, str):
        return {"steal_ratio": (None, spent), "foreign_ratio": (None, spent)}
    there = foreign_ratio(sum(spent) / TICKS_PER_S, spent, server_s, in_tasks=in_tasks)
    return {"steal_ratio": (max(steal, spent[7] / sum(spent)), ""), "foreign_ratio": (max(foreign, there), "")}


def _spent(lines: Iterable[Any], missing: str) -> list[int] | str:
    """The ticks between two lines of /proc/stat, or why they give no shares; `missing`: the reason without them."""
    first, last = map(_cpu_times, lines)
    if first is None or last is None:
        return missing
    return _long_enough([end - start for start, end in zip(first, last, strict=True)])


def _long_enough(spent: list[int]) -> list[int] | str:
    if min(spent) < 0:
        return "a counter of /proc/stat went back"
    return spent if sum(spent) >= MIN_HOST_S * TICKS_PER_S else _TOO_SHORT


def foreign_ratio(
    cpu_s: float, spent: Sequence[int], used_s: float, *, in_tasks: bool = False, all_s: float | None = None
) -> float:
    """The share of `cpu_s` (seconds of all CPUs) that was neither idle, nor stolen, nor used by the measurement.

    `spent` are the ticks of /proc/stat; `in_tasks`: whether interrupt time is charged to tasks. `all_s`, the CPU
    seconds of all tasks, is more accurate if known: a service that waits often makes its CPU enter and leave idle
    states and handle interrupts in them, and that time is neither idle nor charged to any task.
    """
    if all_s is not None:
        return max(0.0, all_s - used_s) / cpu_s
    away = spent[3] + spent[4] + spent[7] + (0 if in_tasks else spent[5] + spent[6])
    return max(0.0, cpu_s - away / TICKS_PER_S - used_s) / cpu_s


def _cpu_times(line: Any) -> list[int] | None:
    """[user, nice, system, idle, iowait, irq, softirq, steal] in clock ticks (user includes guest time)."""
    words = line.split() if isinstance(line, str) else []
    if len(words) < 9 or not words[0].startswith("cpu"):
        return None
    times = [whole(word) for word in words[1:9]]
    return [time for time in times if time is not None] if None not in times else None

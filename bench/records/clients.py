"""A measurement by several load generators at the same time: the evidence on each, and on all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from bench.core.files import mapping
from bench.plan.measurement import Measurement
from bench.records.counters import loadgen_cpu_s, whole
from bench.records.evidence import Evidence
from bench.records.make import evidence_of, make_record
from bench.records.record import LATENCIES, Cause, Record
from bench.records.resource_usage import resource_figures, usable_cpus
from bench.run.clients import Client
from bench.run.reader import Raw, ServiceFacts
from bench.tools import TOOLS, parse
from bench.tools.parsed import merged

NOT_MERGED = "several load generators: their percentiles and deviations cannot be combined"
NOT_MERGEABLE = [key for key in LATENCIES if key not in ("mean", "min", "max")]
LAG_OF_EACH = "several load generators: each has its own, in its lag.json"


@dataclass(frozen=True, slots=True)
class Part:
    """One load generator: its evidence, how busy its CPUs were, and how long it waited for a CPU; None if unknown."""

    evidence: Evidence
    node: str
    busy_ratio: float | None
    wait_ratio: float | None


@dataclass(frozen=True, slots=True)
class Together:
    """All load generators together.

    - `parts`: one for each, in order; `whole`: the evidence on their sum.
    - `skew_s`: seconds between the first and the last start; `skew_most_s`: its upper bound, given uncertain clocks.
    - `shared_busy`: for each machine with several load generators, their numbers (from 1), and how busy its CPUs were.
    """

    parts: tuple[Part, ...]
    whole: Evidence
    raw: Raw
    skew_s: float | None
    skew_most_s: float | None
    shared_busy: Mapping[str, tuple[tuple[int, ...], float]]


def together(planned: Measurement, raw: Raw, service: ServiceFacts) -> Together:
    """The evidence on a measurement by several load generators."""
    raws = [_raw_of(raw, client) for client in raw.clients]
    evidences = [
        # The server's counters are judged once, as part of `whole`.
        evidence_of(client.planned, replace(own, before={}, after={}), service)
        for client, own in zip(raw.clients, raws, strict=True)
    ]
    tool = _tool_of_all([own.tool for own in raws])
    outputs = [one.parsed for one in evidences if one.parsed is not None]
    merges = TOOLS[planned.tool].merges_reports
    by_tool = parse(planned.tool, raw.output) if merges and raw.output is not None else None
    all_there = len(outputs) == len(evidences)
    summed = merged(outputs, by_tool) if all_there else None
    first = evidence_of(planned, replace(raw, tool=tool, output=None, lag=None, clients=()), service)
    whole_evidence = replace(
        first,
        parsed=summed,
        goodput=_sum([one.goodput for one in evidences]),
        sent_rate=_sum([one.sent_rate for one in evidences]),
        # Judged for each load generator.
        health=None,
        clock_step_s=None,
    )
    figures = [
        resource_figures(own, service, one) if own.tool is not None else {}
        for own, one in zip(raws, evidences, strict=True)
    ]
    parts = tuple(
        Part(one, client.node, _value(own, "loadgen_busy_ratio"), _value(own, "loadgen_wait_ratio"))
        for one, client, own in zip(evidences, raw.clients, figures, strict=True)
    )
    skew_s, most_s = _skew(raw.clients)
    return Together(parts, whole_evidence, replace(raw, tool=tool), skew_s, most_s, _shared(raw.clients, parts))


def record_of(
    found: Together, service: ServiceFacts, causes: tuple[Cause, ...], *, harness: str, settings_sha256: str
) -> Record:
    """The record: sums, except that CPU ratios are those of the busiest load generator.

    If load generators have their own machines, steal and foreign CPU time are those of the noisiest one.
    """
    record = make_record(found.whole, found.raw, service, causes, harness=harness, settings_sha256=settings_sha256)
    changes: dict[str, Any] = {"loadgens": len(found.parts), "start_skew_s": found.skew_s}
    nulls = dict(record.nulls)
    for name, reason in _reasons(found).items():
        if name in nulls:
            nulls[name] = reason
    busy = [part.busy_ratio for part in found.parts] + [share for _, share in found.shared_busy.values()]
    changes["loadgen_busy_ratio"] = _most(busy)
    changes["loadgen_wait_ratio"] = _most([part.wait_ratio for part in found.parts])
    if found.raw.before.get("apart") == "yes":
        changes |= _noisiest(found, service)
    for name in ("loadgen_busy_ratio", "loadgen_wait_ratio", "steal_ratio", "foreign_ratio"):
        if name in changes and changes[name] is None:
            nulls.setdefault(name, "not known of each load generator")
        elif name in changes:
            nulls.pop(name, None)
    return replace(record, **changes, nulls=nulls)


def _reasons(found: Together) -> dict[str, str]:
    """Reasons for figures that are null only because there are several load generators."""
    if found.whole.parsed is None:
        return {}
    reasons = (
        {}
        if TOOLS[found.whole.planned.tool].merges_reports
        else {f"latency_s.{key}": NOT_MERGED for key in NOT_MERGEABLE}
    )
    return reasons | ({"lag_s": LAG_OF_EACH} if found.whole.planned.open_loop else {})


def _noisiest(found: Together, service: ServiceFacts) -> dict[str, float | None]:
    """The highest steal and foreign CPU time among the load generators' machines."""
    every = [
        resource_figures(_raw_of(found.raw, client), service, part.evidence)
        for client, part in zip(found.raw.clients, found.parts, strict=True)
    ]
    return {name: _most([_value(own, name) for own in every]) for name in ("steal_ratio", "foreign_ratio")}


def _raw_of(raw: Raw, client: Client) -> Raw:
    """The raw files as if this were the only load generator."""
    return replace(
        raw,
        tool=client.tool,
        output=client.output,
        output_file=client.output_file,
        lag=client.lag,
        faults=client.faults,
        changes=(),
        clients=(),
    )


def _tool_of_all(tools: Sequence[Mapping[str, Any] | None]) -> Mapping[str, Any] | None:
    """The first load generator's tool.json, with the CPU time of all and the first exit status other than 0, if any."""
    every = [tool for tool in tools if tool is not None]
    if not every or len(every) < len(tools):
        return None
    first, used = every[0], [loadgen_cpu_s(tool) for tool in every]
    known = [seconds for seconds in used if seconds is not None]
    spent_ns = {"before": 0, "after": round(sum(known) * 1e9)} if len(known) == len(used) else {}
    counted = {
        when: {**mapping(first.get(when)), "loadgen": {"cpuacct.usage": str(spent_ns[when])} if spent_ns else {}}
        for when in ("before", "after")
    }
    statuses = [whole(tool.get("exit_status")) for tool in every]
    versions = {tool.get("tool_version") for tool in every}
    return {
        **first,
        **counted,
        "exit_status": next((status for status in statuses if status != 0), 0),
        "tool_version": ", ".join(sorted(map(str, versions))) if None not in versions else None,
    }


def _shared(clients: Sequence[Client], parts: Sequence[Part]) -> dict[str, tuple[tuple[int, ...], float]]:
    """How busy the CPUs shared by several load generators of a machine were."""
    found = {}
    for node in dict.fromkeys(client.node for client in clients):
        numbers = [number for number, client in enumerate(clients) if client.node == node]
        if len(numbers) < 2:
            continue
        used = [parts[number].evidence.tool_cpu_s for number in numbers]
        walls = [parts[number].evidence.wall_s for number in numbers]
        limits = [mapping((clients[number].tool or {}).get("limits")) for number in numbers]
        cpus = min((whole(own.get("cpus")) or 0 for own in limits), default=0)
        usable = min(cpus, sum(usable_cpus(clients[number].planned, cpus) for number in numbers))
        spent, wall = _sum(used), _most(walls)
        if spent is not None and wall and usable:
            found[node] = (tuple(number + 1 for number in numbers), spent / wall / usable)
    return found


def _skew(clients: Sequence[Client]) -> tuple[float | None, float | None]:
    """(seconds between the first and last start, its upper bound, given uncertain clocks); None if unknown."""
    starts = []
    for client in clients:
        start, ahead = whole((client.tool or {}).get("start_ns")), client.ahead_ns
        if start is None or ahead is None:
            return None, None
        starts.append((start - ahead, client.within_ns))
    apart = max(start for start, _ in starts) - min(start for start, _ in starts)
    most = max(late + known + other - early for (late, known), (early, other) in permutations(starts, 2))
    return apart / 1e9, most / 1e9


def _value(figures: Mapping[str, tuple[Any, str]], name: str) -> float | None:
    return figures[name][0] if name in figures else None


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _most(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None

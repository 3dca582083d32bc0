"""Windows in turns that noise of the host spoiled are measured again while their services are up, within a budget.

Only in tables that requests/s judge: CPU per request leaves out what other programs took, so that a second window would
tell no more than the first (tests/simulations/simulate_retries.py). The rule looks at the host's counters and never at
the result.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.tables.planned import tables_of
from bench.core.files import as_object, mapping, read_bytes
from bench.load.turns import Turns
from bench.plan.measurement import Measurement
from bench.records.resource_usage import foreign_ratio
from bench.records.turns import ALL_TASKS, NOT_CONTAINERS
from bench.run.spoiled import RETRIES, SPOILED
from bench.validity.run_rules import NoiseLimits, noise_limits_of

Table = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Retries:
    """`most` windows of a table may be measured again in the run; it has no table that CPU per request judges."""

    run: Path
    limits: NoiseLimits
    most: Mapping[Table, int]

    def wanted(self, window: Sequence[Measurement], taken: Iterable[Turns], hosts: Sequence[int] | None = None) -> bool:
        """Whether this window is to be measured again for noise; `hosts`: CPUs of each machine, else of this one."""
        first = window[0]
        most = self.most.get((first.scenario, first.tool, first.level), 0)
        again = sum(
            1 for _ in self.run.glob(f"raw/r*/blocks/*/{first.scenario}/{first.tool}-{first.level}/w*.{SPOILED}-*")
        )
        return again < most and is_spoiled(list(taken), self.limits, hosts or (os.cpu_count() or 1,))


def retries_of(run: Path) -> Retries:
    """What may be measured again in a run; nothing where run.json or the plan cannot be read."""
    facts = as_object(read_bytes(str(run / "run.json")) or b"") or {}
    waiting = {table.key for table in tables_of(facts) if table.waits}
    windows: dict[Table, set[tuple[str, str]]] = {table: set() for table in waiting}
    for text in (read_bytes(str(run / "plan.jsonl")) or b"").splitlines():
        line = mapping(json.loads(text))
        found = windows.get((str(line.get("scenario")), str(line.get("tool")), str(line.get("level"))))
        if found is not None and line.get("mode") == "turns":
            found.add((str(line.get("unit")), str(line.get("window"))))
    most = {table: int(RETRIES * len(found)) for table, found in windows.items()}
    return Retries(run, noise_limits_of(mapping(facts.get("knobs"))), most)


def is_spoiled(taken: Sequence[Turns], limits: NoiseLimits, hosts: Sequence[int]) -> bool:
    """Whether other programs or the hypervisor took more of the CPUs in these turns than the limits allow.

    `hosts` are the CPUs of each machine. Of several, all may have happened on the one with the fewest.
    """
    cpus, share = sum(hosts), sum(hosts) / min(hosts)
    spent = [sum(ticks) for ticks in zip(*(turns.host_ticks for turns in taken), strict=True)]
    cpu_s = cpus * sum(turns.load_ns + turns.drain_ns for turns in taken) / 1e9
    if not cpu_s or not sum(spent):
        return False
    used_s = sum(ns for turns in taken for name, ns in turns.cpu_ns.items() if name not in NOT_CONTAINERS) / 1e9
    told = [turns.cpu_ns[ALL_TASKS] / 1e9 for turns in taken if ALL_TASKS in turns.cpu_ns]
    all_s = sum(told) if len(told) == len(taken) else None
    foreign = foreign_ratio(cpu_s, spent, used_s, all_s=all_s)
    return spent[7] / sum(spent) * share > limits.steal or foreign * share > limits.foreign

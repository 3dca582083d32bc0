"""The validity rules of a run: causes that need several records or the counters of the host.

- `loadgen-bound`: the load generator may have limited the figure, because the goodput is more than half of what the
  same tool reached against the null server in this run, the tool waited for a CPU, or its CPUs were busy. A closed loop
  whose server was busy is exempt, since the server was the limit. So are measurements of the null server, because the
  load generator is meant to limit them; they are exempt from `host` too.
- `impossible`: more successes than N connections, or N workers that handle one request at a time, can give, if each
  waits: `most_possible` of the kind of exchange.
- `host`: the hypervisor, or programs outside the measurement, took CPU time during the window. This distorts goodput
  and latency, but not CPU time per request (`bench.analysis.cells.cell` keeps it). The rule reads only the host's
  counters, never the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bench.core.exchange import Wait, WaitsFor
from bench.core.formats import plural
from bench.plan.cpus import server_cpus
from bench.plan.measurement import IN_BLOCKS
from bench.records.counters import whole
from bench.records.evidence import MAX_BUSY
from bench.records.record import MEASURED, Cause, Record
from bench.run.facts import RunFacts

NULL = "null"
"""The null server, which returns static responses: a tool's goodput against it is the tool's ceiling."""
BOUND = "loadgen-bound"
IMPOSSIBLE = "impossible"
TIMER_SLACK = 1.002
"""Tolerance, because event loops start timers from their last clock reading, so a wait may end slightly early."""
LEAST_SUCCESSES = 30
"""A window with fewer successes does not count."""
BUSY = 0.85
"""A service that used less than this share of its CPU while it was under load was waiting for something."""
MAX_OF_CEILING = 0.50
"""The highest accepted goodput of a service, as a share of the tool's ceiling."""


@dataclass(frozen=True, slots=True)
class NoiseLimits:
    """The largest accepted shares of a window: stolen by the hypervisor, used by other programs, and spent by the load
    generator waiting for a CPU.
    """

    steal: float = 0.01
    foreign: float = 0.05
    wait: float = 0.10


_LIMITS = NoiseLimits()


def noise_limits_of(settings: Mapping[str, Any]) -> NoiseLimits:
    """The limits from a run's settings, which are in percent; defaults for those that are not numbers."""
    return NoiseLimits(
        _ratio(settings.get("MAX_STEAL"), _LIMITS.steal),
        _ratio(settings.get("MAX_FOREIGN_CPU"), _LIMITS.foreign),
        _ratio(settings.get("MAX_LOADGEN_WAIT"), _LIMITS.wait),
    )


def apply_run_rules(records: Iterable[Record], facts: RunFacts) -> list[Record]:
    """The records of a run with the causes by the rules of this module added."""
    every, limits = list(records), noise_limits_of(facts.knobs)
    ceilings = ceilings_of(every, limits)
    return [_judged(_possible(record, facts), ceilings, limits, facts.knobs) for record in every]


def busy_ratio(record: Record, knobs: Mapping[str, Any]) -> float | None:
    """The share of the CPUs that a service can use and did, if it was measured alone too; None if unknown."""
    cpus = server_cpus(knobs)
    if record.server_busy_ratio is not None or not cpus or not record.duration_s or record.server_cpu_s is None:
        return record.server_busy_ratio
    used = record.server_cpu_s / record.duration_s
    return used / min(cpus, max(workers_of(record, knobs), used))


def workers_of(record: Record, knobs: Mapping[str, Any]) -> int:
    """How many worker processes the service of a record was started with."""
    return whole(record.settings.get("WORKERS") or knobs.get("WORKERS")) or 1


def most_possible(record: Record, facts: RunFacts) -> tuple[float, str] | None:
    """(highest possible successes per second with its connections and workers, why); None if nothing waits."""
    wait_s = least_wait_s(facts.wait_of(record.scenario), facts.knobs)
    if not wait_s or not record.connections:
        return None
    at_once, whose = record.connections, f"{record.connections} connections"
    if facts.service(record.service).concurrent is False:
        workers = whole(record.settings.get("WORKERS") or facts.workers) or 0
        if 0 < workers < at_once:
            at_once, whose = workers, f"{plural(workers, 'worker')}, one request at a time each"
    return facts.kind_of(record.scenario).most_possible(at_once, whose, wait_s)


def least_wait_s(wait: Wait | None, knobs: Mapping[str, Any]) -> float:
    """How long each response waits at least, in seconds; 0 if unknown."""
    if wait and wait.on is WaitsFor.UPSTREAM and not wait.ms:
        return (whole(knobs.get("UPSTREAM_DELAY_MS")) or 0) / 1000
    return wait.ms / 1000 if wait else 0.0


def _possible(record: Record, facts: RunFacts) -> Record:
    """The record, made invalid if its goodput is impossible."""
    most = most_possible(record, facts) if record.outcome == MEASURED and record.goodput else None
    if most is None or record.goodput is None or record.goodput <= TIMER_SLACK * most[0]:
        return record
    unit = facts.kind_of(record.scenario).unit
    detail = f"{record.goodput:.6g} {unit}s/s, but at most {most[0]:.6g} are possible: {most[1]}"
    return replace(record, valid=False, causes=(*record.causes, Cause(IMPOSSIBLE, detail)))


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Goodput against the null server in requests/s: by (tool, scenario), and the highest of each tool.

    A tool that opens a connection for each request is another one, `wrk closes`: it reaches less.
    """

    cells: Mapping[tuple[str, str], float]
    tools: Mapping[str, float]

    def of(self, record: Record) -> tuple[float, str] | None:
        """(ceiling, the scenario that it was measured with) for a record; None if there is none."""
        cell = self.cells.get((_client(record), record.scenario))
        if cell is not None:
            return cell, record.scenario
        best = self.tools.get(_client(record))
        return None if best is None else (best, "its best")


def ceilings_of(records: Iterable[Record], limits: NoiseLimits = _LIMITS) -> Ceilings:
    """The highest of each tool's valid measurements of the null server.

    A measurement that reached its target rate is no ceiling, because the tool could have sent more. Neither is a noisy
    one in which the tool had CPU time left: with other programs on the null server's CPU, wrk reached 31,191 instead of
    92,324 requests/s.
    """
    cells: dict[tuple[str, str], float] = {}
    tools: dict[str, float] = {}
    for record in records:
        goodput = record.goodput
        if record.service != NULL or not record.valid or not goodput:
            continue
        if record.rate is not None and (record.sent_rate or goodput) >= 0.99 * record.rate:
            continue
        if noise_of(record, limits) and (record.loadgen_busy_ratio or 0.0) < MAX_BUSY:
            continue
        tool = _client(record)
        cells[tool, record.scenario] = max(goodput, cells.get((tool, record.scenario), 0.0))
        tools[tool] = max(goodput, tools.get(tool, 0.0))
    return Ceilings(cells, tools)


def _client(record: Record) -> str:
    return f"{record.tool} closes" if record.level.closes else record.tool


def noise_of(record: Record, limits: NoiseLimits) -> str:
    """Noise above the limits in a window measured alone, as text; empty for windows in blocks or if unknown."""
    if record.outcome != MEASURED or record.mode in IN_BLOCKS:
        return ""
    shares = (("steal", record.steal_ratio, limits.steal), ("foreign CPU", record.foreign_ratio, limits.foreign))
    return ", ".join(f"{name} {share:.1%}" for name, share, most in shares if share is not None and share > most)


def _judged(record: Record, ceilings: Ceilings, limits: NoiseLimits, knobs: Mapping[str, Any]) -> Record:
    """The record with the causes `loadgen-bound` and `host` added."""
    if record.outcome != MEASURED or record.service == NULL:
        return record
    server_bound = record.rate is None and (busy_ratio(record, knobs) or 0.0) >= BUSY
    bound = "" if server_bound else "; ".join((*_ceiling(record, ceilings), *_starved(record, limits)))
    causes = [Cause(BOUND, bound)] if bound else []
    # In a block, noise affects all services of a window alike, and is part of the table's intervals (see noise_of).
    if noise := noise_of(record, limits):
        causes.append(Cause("host", noise))
    return replace(record, valid=False, causes=(*record.causes, *causes)) if causes else record


def _ceiling(record: Record, ceilings: Ceilings) -> Iterator[str]:
    ceiling = ceilings.of(record)
    if ceiling and record.goodput is not None and record.goodput > MAX_OF_CEILING * ceiling[0]:
        share = record.goodput / ceiling[0]
        most = f"{ceiling[0]:,.0f}/s that {record.tool} reaches against the null server ({ceiling[1]})"
        yield f"at {share:.0%} of the {most}"


def _starved(record: Record, limits: NoiseLimits) -> Iterator[str]:
    if record.loadgen_busy_ratio is not None and record.loadgen_busy_ratio > MAX_BUSY:
        yield f"{record.tool}'s CPUs were {record.loadgen_busy_ratio:.1%} busy"
    # In a block, this counts as noise too; whether it delayed the tool is judged by the send lag.
    waited = None if record.mode in IN_BLOCKS else record.loadgen_wait_ratio
    if waited is not None and waited > limits.wait:
        yield f"{record.tool} waited for a CPU {waited:.1%} of the window"


def _ratio(value: Any, default: float) -> float:
    try:
        share = float(value) / 100
    except (TypeError, ValueError):
        return default
    return share if 0 <= share < float("inf") else default

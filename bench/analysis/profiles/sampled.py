"""The sampled services of a run's tables (--profile): which ones, and what was sampled of each.

A window is sampled only once, and sampling costs CPU time. A profile therefore only gives the functions' shares of CPU
time; the total cost of a request comes from the table's rounds, in which noise affects all services equally.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from bench.analysis.causes import HARMLESS_TO_PROFILES, causes_beside
from bench.analysis.profiles.stacks import Stack, innermost_counts, parse_stacks
from bench.analysis.tables.observations import causes_against, is_thin
from bench.analysis.tables.ranking import Contrast, Metric, Ranking
from bench.core.files import read_bytes
from bench.core.formats import printable
from bench.core.groups import grouped
from bench.matrix.knobs import CPU_QUOTA
from bench.plan.cpus import server_cpus
from bench.plan.measurement import Measurement
from bench.plan.profile import MOST, SAID, STACKS, window_of
from bench.records.record import MEASURED, Record
from bench.run.facts import RunService
from bench.run.reader import Run, ServiceFacts, read_raw
from bench.stats.cost_shares import dispersion
from bench.tools.levels import LoadKey
from bench.validity.run_records import judged_record

LEAST_SAMPLES = 100
"""Fewer samples say nothing about single functions."""
MOST_STARVED = 0.2
"""A process that waits for a CPU looks like a running one: above this share, samples show where it waited."""
LEAST_SEEN = 0.8
"""If samples account for less of the CPU time than this, threads that run no Python used the rest."""
_ASKED = re.compile(r"(\d{1,6}) times a second for (\d{1,6}) seconds")


@dataclass(frozen=True, slots=True)
class Profile:
    """What was sampled of a service under the load of a table; `missing`: why there is nothing.

    `cost_us`: CPU time per good answer. `seen`: the share of it that the samples account for. `alike`: how many samples
    tell as much as one independent sample.
    """

    service: str
    table: LoadKey
    stacks: Mapping[Stack, int]
    cost_us: float = 0.0
    seen: float = 1.0
    alike: float = 1.0
    missing: str = ""
    starved: bool = False
    """Whether it is missing because other programs used the CPU."""

    @property
    def samples(self) -> int:
        """The number of samples, including an estimate for threads that run no Python."""
        return round(sum(self.stacks.values()) / self.seen)


def nearest_the_top(ranking: Ranking) -> list[Contrast]:
    """The contrasts of ranked services: called ones first, each kind from the top of the table down."""
    rank = {row.service: row.rank for row in ranking.rows if row.rank is not None}

    def place(one: Contrast) -> tuple[bool, int, int]:
        first, last = sorted((rank[one.a], rank[one.b]))
        return not one.called, last, first

    return sorted((one for one in ranking.contrasts if one.a in rank and one.b in rank), key=place)


def sampled_services(ranking: Ranking) -> list[str]:
    """The services of a table to sample: all, or the sides of the first contrasts by `nearest_the_top`."""
    names = [row.service for row in ranking.rows if row.windows]
    if len(names) <= MOST:
        return names
    chosen: dict[str, None] = {}
    for one in nearest_the_top(ranking):
        if len(chosen.keys() | {one.a, one.b}) <= MOST:
            chosen |= dict.fromkeys((one.a, one.b))
    return [name for name in names if name in chosen]


def cannot_sample(service: RunService) -> str:
    """Why a service cannot be sampled at all; empty if it can."""
    if service.url:
        return "it is not a container of this project"
    if service.python.startswith("pypy"):
        return "py-spy cannot sample PyPy"
    return ""


def windows_of(source: Run, rankings: Iterable[Ranking]) -> list[Measurement]:
    """The windows to sample, table by table."""
    first: dict[tuple[LoadKey, str], Measurement] = {}
    for one in source.planned:
        if one.mode == "turns":
            first.setdefault((one.load, one.service), one)
    keys = [(ranking.table, name) for ranking in rankings for name in sampled_services(ranking)]
    return [window_of(first[key]) for key in keys if key in first and not cannot_sample(source.facts.service(key[-1]))]


def profiles_of(source: Run, services: Mapping[str, ServiceFacts], ranking: Ranking) -> list[Profile]:
    """The profiles of a table's services that are to be sampled; empty for a run without --profile."""
    if not source.facts.profile:
        return []
    windows = {one.service: one for one in windows_of(source, [ranking])}
    profiles = []
    for name in sampled_services(ranking):
        window = windows.get(name)
        why = cannot_sample(source.facts.service(name)) or ("" if window else "it is not in the plan")
        if window is None or why:
            profiles.append(Profile(name, ranking.table, {}, missing=why))
        else:
            profiles.append(read_profile(source, window, services.get(name) or ServiceFacts(name=name)))
    return profiles


def read_profile(source: Run, window: Measurement, service: ServiceFacts) -> Profile:
    """The profile of one window."""
    run = source.path
    none = Profile(window.service, window.load, {})
    raw = read_raw(run, window)
    if raw.meta is None:
        return replace(none, missing="its window was not made")
    record = judged_record(window, raw, service)
    said = (read_bytes(f"{run}/{window.dir}/{SAID}") or b"").decode(errors="replace")
    stacks = read_bytes(f"{run}/{window.dir}/{STACKS}")
    texts = (stacks or b"").decode(errors="replace").split("\n\n")
    parts = [counts for text in texts if (counts := parse_stacks(text))]
    counts = sum(parts, Counter[Stack]())
    samples = None if stacks is None else counts.total()
    if missing := _why_none(record, str(raw.meta.get("detail") or ""), samples, said):
        return replace(none, missing=missing)
    ran = _ran(parts, said, record)
    starved = min(1 - 1 / ran, 1 - _used(record, window, server_cpus(source.facts.knobs) or 1))
    if starved > MOST_STARVED:
        words = f"it had to wait for a CPU that other programs used for {starved:.0%} of its time"
        return replace(none, starved=True, missing=words)
    cost_us = 1e6 * (record.server_cpu_s or 0) / (record.successes or 1)
    seen, alike = ran if ran < LEAST_SEEN else 1.0, dispersion([innermost_counts(part, "label") for part in parts])
    return replace(none, stacks=counts, cost_us=cost_us, seen=seen, alike=alike)


def _why_none(record: Record, detail: str, samples: int | None, said: str) -> str:
    """Why a window gives no profile; empty if it does. `samples` is None if there are no stacks."""
    causes = causes_beside(record, HARMLESS_TO_PROFILES)
    if record.outcome != MEASURED:
        return f"{record.outcome}: {detail}" if detail else record.outcome
    if causes:
        return f"{causes[0].cause}: {causes[0].detail}"
    if samples is None:
        return f"py-spy failed: {_last_line(said) or 'it said nothing'}"
    if not record.server_cpu_s or not record.successes:
        return record.nulls.get("server_cpu_s") or "no CPU time was counted"
    return f"only {samples} samples of running Python code" if samples < LEAST_SAMPLES else ""


def _ran(parts: Sequence[Mapping[Stack, int]], said: str, record: Record) -> float:
    """The time for which threads could run, according to samples, per second of CPU time that the container used."""
    # py-spy also mentions the last recording, which has no part if the end of the load cut it off.
    asked = sum(int(rate) * int(seconds) for rate, seconds in _ASKED.findall(said)[: len(parts)])
    samples = sum(sum(part.values()) for part in parts)
    if not asked or not samples or not record.duration_s or not record.server_cpu_s:
        return 1.0
    return samples / asked / (record.server_cpu_s / record.duration_s)


def _used(record: Record, window: Measurement, cpus: int) -> float:
    """The share of its CPUs that the container used; it can have waited for other programs only in the rest."""
    quota = window.settings.get(CPU_QUOTA)
    return (record.server_cpu_s or 0) / (record.duration_s or 1) / min(cpus, float(quota) if quota else cpus)


def costs_by_round(records: Iterable[Record], profile: Profile) -> dict[int, float]:
    """CPU time per good answer of a service's own container, in µs, by round of its table."""
    mine = (one for one in records if (one.load, one.service, one.mode) == (profile.table, profile.service, "turns"))
    counted = [one for one in mine if not causes_against(one, Metric.CPU) and not is_thin(one)]
    costs = [(one.round, 1e6 * one.server_cpu_s / (one.successes or 1)) for one in counted if one.server_cpu_s]
    rounds = grouped(costs, lambda pair: pair[0])
    return {number: fmean(cost for _, cost in of_round) for number, of_round in rounds.items()}


def _last_line(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    # py-spy's message about a single process explains more than its last line, which is about all of them.
    lines += [line for line in lines if "Unsupported version of Python" in line][-1:]
    return printable(lines[-1]).strip() if lines else ""

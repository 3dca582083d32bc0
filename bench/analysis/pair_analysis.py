"""The verdicts of a run: the windows of each pair -> one value per round -> a verdict.

Every table (scenario, tool, level) is tested separately. The A/A pairs set the thresholds of all tables.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.analysis.comparison import Comparison, Metric, Side, Thresholds, comparison, thresholds_of
from bench.analysis.ranking import Ranking
from bench.analysis.verdicts import Verdict, Winner, verdicts, winner
from bench.core.files import items, mapping
from bench.records.record import Record
from bench.stats.estimates import Estimate, estimate

MAX_IN_FLIGHT = 0.01
"""Connections per request of a window: requests in flight when a tool stops are not counted."""
SOLO_CAUSES = frozenset({"host"})
"""Noise of the host affects both sides alike: for a pair's ratio, the noise floor accounts for it."""


@dataclass(frozen=True, slots=True)
class PlannedPair:
    """A pair of the plan: the names of its services, and the table it belongs to."""

    name: str
    a: str
    b: str
    scenario: str
    tool: str
    level: str
    waits: bool

    @property
    def control(self) -> bool:
        """Whether it is an A/A pair."""
        return self.a == self.b

    @property
    def table(self) -> tuple[str, str, str]:
        """Scenario, tool, level."""
        return self.scenario, self.tool, self.level


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdicts on a run's pairs, in the order of the plan, with the A/A pairs' differences and the thresholds.

    `differences` are each pair's by both metrics, whichever of them decides the verdict. `rankings` are the answers of
    the run's tables in turns, which are judged by themselves (`bench.analysis.table_analysis`).
    """

    pairs: tuple[PlannedPair, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    differences: tuple[Mapping[Metric, Estimate | None], ...] = ()
    controls: tuple[tuple[PlannedPair, Metric, Estimate | None, int], ...] = ()
    limits: Mapping[Metric, Thresholds] | None = None
    winners: tuple[tuple[tuple[str, str, str], Winner], ...] = ()
    rankings: tuple[Ranking, ...] = ()

    @property
    def decided(self) -> set[str]:
        """The names of the pairs that need no more rounds."""
        return {pair.name for pair, found in zip(self.pairs, self.verdicts, strict=True) if found.decided}

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines of verdicts.jsonl on pairs; differences are B/A - 1: 0.05 is 5 % more per second or CPU second."""
        for pair, metric, noise_floor, rounds in self.controls:
            yield _line(pair, metric, rounds) | {"verdict": "control", "difference": _share(noise_floor)}
        for pair, found, by in zip(self.pairs, self.verdicts, self.differences, strict=True):
            interval = found.interval
            yield _line(pair, found.metric, found.rounds) | {
                "verdict": found.word,
                "difference": _share(found.estimate),
                "interval": interval and [_ratio(interval.low), _ratio(interval.high)],
                "confidence": interval and interval.confidence,
                "p": found.p,
                "adjusted_p": found.adjusted_p,
                "goodput_difference": _share(by.get(Metric.GOODPUT)),
                "cpu_difference": _share(by.get(Metric.CPU)),
                "reason": found.reason,
                "flags": list(found.flags),
                "settled": found.decided,
            }


def _share(found: Estimate | None) -> float | None:
    return None if found is None else _ratio(found.mean)


def _ratio(logarithm: float) -> float | None:
    return math.expm1(logarithm) if abs(logarithm) < 700 else None


def _line(pair: PlannedPair, metric: Metric, rounds: int) -> dict[str, Any]:
    return {
        "pair": pair.name,
        "a": pair.a,
        "b": pair.b,
        "scenario": pair.scenario,
        "tool": pair.tool,
        "level": pair.level,
        "judge": str(metric),
        "rounds": rounds,
    }


def pairs_of(facts: Mapping[str, Any]) -> tuple[PlannedPair, ...]:
    """The pairs that run.json lists; malformed entries are left out."""
    found = []
    for entry in map(mapping, items(facts.get("pairs"))):
        words = {key: entry.get(key) for key in ("name", "a", "b", "scenario", "tool", "level")}
        if all(isinstance(word, str) for word in words.values()):
            found.append(
                PlannedPair(**{key: str(word) for key, word in words.items()}, waits=entry.get("waits") is True)
            )
    return tuple(found)


def judge_pairs(pairs: Sequence[PlannedPair], records: Iterable[Record]) -> Judged:
    """The verdict on every pair, given the records of their windows; pure."""
    by_pair: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.mode == "duet" and record.pair:
            by_pair[record.pair].append(record)
    controls = []
    for pair in (p for p in pairs if p.control):
        for metric in Metric:
            made = _by(metric, pair, by_pair[pair.name])
            controls.append((pair, metric, estimate(made.values), len(made.values)))
    limits = {
        metric: thresholds_of(found for _, by, found, _ in controls if by is metric and found is not None)
        for metric in Metric
    }
    compared = [p for p in pairs if not p.control]
    comparisons = [_by_main_metric(pair, by_pair[pair.name], limits) for pair in compared]
    found: dict[str, Verdict] = {}
    winners = []
    for table in dict.fromkeys(pair.table for pair in compared):
        names = [pair.name for pair in compared if pair.table == table]
        group = [made for pair, made in zip(compared, comparisons, strict=True) if pair.table == table]
        verdicts_here = verdicts(group)
        found |= dict(zip(names, verdicts_here, strict=True))
        services = {made.a for made in group} | {made.b for made in group}
        if len(group) == len(services) * (len(services) - 1) // 2 > 1:
            winners.append((table, winner(group, verdicts_here)))
    return Judged(
        tuple(compared),
        tuple(comparisons),
        tuple(found[pair.name] for pair in compared),
        tuple(
            {metric: estimate(_by(metric, pair, by_pair[pair.name]).values) for metric in Metric} for pair in compared
        ),
        tuple(controls),
        limits,
        tuple(winners),
    )


def _by_main_metric(pair: PlannedPair, records: Sequence[Record], limits: Mapping[Metric, Thresholds]) -> Comparison:
    """By CPU per request if the servers are busy and their CPU counters known, else by goodput."""
    known = any(_cpu_s(record) is not None for record in records)
    return _by(Metric.CPU if known and not pair.waits else Metric.GOODPUT, pair, records, limits)


def _by(
    metric: Metric, pair: PlannedPair, records: Sequence[Record], limits: Mapping[Metric, Thresholds] | None = None
) -> Comparison:
    rounds: dict[int, dict[int, dict[str, Record]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        rounds[record.round][record.window or 1][record.side or "a"] = record
    windows, thin, invalid = [], 0, Counter[str]()
    for number in sorted(rounds):
        kept = []
        for window in rounds[number].values():
            a, b = window.get("a"), window.get("b")
            if a is None or b is None:
                continue
            causes = [c.cause for r in (a, b) for c in r.causes if c.cause not in SOLO_CAUSES]
            if causes:
                invalid[causes[0]] += 1
            elif _in_flight(a) or _in_flight(b):
                thin += 1
            else:
                kept.append((_side(a), _side(b)))
        if kept:
            windows.append(kept)
    cause = None
    if invalid and sum(invalid.values()) > sum(map(len, windows)):
        cause = invalid.most_common(1)[0][0]
    made = comparison(pair.a, pair.b, windows, cpu_bound=metric is Metric.CPU, limits=limits, cause=cause)
    flags = [*made.flags]
    if thin:
        flags.append(f"{thin} windows with too few responses for their connections")
    if invalid and cause is None:
        counted = ", ".join(f"{word} {count}" for word, count in sorted(invalid.items()))
        flags.append(f"windows left out: {counted}")
    return replace(made, flags=tuple(flags))


def _in_flight(record: Record) -> bool:
    return bool(record.connections and record.requests and record.connections > MAX_IN_FLIGHT * record.requests)


def _side(record: Record) -> Side:
    # The duration is printed with two digits only; the goodput gives it more precisely.
    seconds = (record.successes or 0) / record.goodput if record.goodput else record.duration_s
    return Side(record.successes or 0, seconds or 0.0, _cpu_s(record))


def _cpu_s(record: Record) -> float | None:
    """CPU time of the server and its database; None if both sides share one database."""
    if record.server_cpu_s is None or record.cpu_per_success_s is None:
        return None
    return record.server_cpu_s + (record.database_cpu_s or 0.0)

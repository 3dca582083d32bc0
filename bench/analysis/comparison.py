"""One pair: the samples of its two sides by one metric, round by round."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.plan.interim_looks import LOOKS
from bench.stats.estimates import Estimate, log_ratio

LEAST_DIFFERENCE = math.log(1.02)
"""The least estimate that is called a difference."""
DELTA = math.log(1.03)
"""A difference below this is none."""
SAME_CPU = 0.03
"""|ln(CPU_B/CPU_A)| below which goodput may speak of two CPU-bound servers."""
LEAST_SUCCESSES = 1000
LEAST_CPU_S = 0.5
"""A window counts if each side has that many successes, or used that much CPU."""


class Metric(StrEnum):
    """The figure that a verdict rests on, as a speed: successes by CPU second or by second."""

    CPU = "CPU per request"
    GOODPUT = "goodput"


@dataclass(frozen=True, slots=True)
class Side:
    """One service's part of a duet window: `cpu_s` with its database's, None where unknown."""

    successes: int
    seconds: float
    cpu_s: float | None

    @property
    def enough(self) -> bool:
        """Whether the window has enough in it to be a value."""
        return self.successes >= LEAST_SUCCESSES or (self.cpu_s is not None and self.cpu_s >= LEAST_CPU_S)

    def speed(self, metric: Metric) -> float | None:
        """Successes by second, or by CPU second; None where unknown."""
        per = self.cpu_s if metric is Metric.CPU else self.seconds
        return self.successes / per if per else None


PairWindow = tuple[Side, Side]
"""A and B in the same seconds."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`least` is the smallest difference that may be called one, `delta` bounds what is called none; logarithms."""

    least: float = LEAST_DIFFERENCE
    delta: float = DELTA


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """B to A, one value a round, in the order of the rounds.

    `values` are the judge's. Where that is the CPU, `goodput` and `shares`, ln(CPU_B/CPU_A), have the same rounds.
    """

    a: str
    b: str
    metric: Metric
    values: tuple[float, ...]
    goodput: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    limits: Thresholds = Thresholds()
    cause: str | None = None
    flags: tuple[str, ...] = ()


def comparison(
    a: str,
    b: str,
    rounds: Iterable[Sequence[PairWindow]],
    *,
    cpu_bound: bool,
    limits: Mapping[Metric, Thresholds] | None = None,
    cause: str | None = None,
) -> Comparison:
    """One pair from the valid windows of its rounds.

    A round's value is that of its windows' sums. Rounds without a large enough window are left out and told.
    """
    metric = Metric.CPU if cpu_bound else Metric.GOODPUT
    values, goodput, shares, thin, unknown = [], [], [], 0, 0
    for windows in rounds:
        kept = [(one, other) for one, other in windows if one.enough and other.enough]
        if not kept:
            thin += 1
            continue
        one, other = (_sum(sides) for sides in zip(*kept, strict=True))
        value = log_ratio(other.speed(metric), one.speed(metric))
        rate = log_ratio(other.speed(Metric.GOODPUT), one.speed(Metric.GOODPUT))
        share = log_ratio(other.cpu_s, one.cpu_s)
        if value is None or rate is None or (cpu_bound and share is None):
            unknown += 1
            continue
        values.append(value)
        if share is not None and cpu_bound:
            goodput.append(rate)
            shares.append(share)
    flags = [f"{rounds_words(thin)} with too few answers"] if thin else []
    flags += [f"{rounds_words(unknown)} without {metric}"] if unknown else []
    return Comparison(
        a=a,
        b=b,
        metric=metric,
        values=tuple(values),
        goodput=tuple(goodput),
        shares=tuple(shares),
        limits=(limits or {}).get(metric, Thresholds()),
        cause=cause,
        flags=tuple(flags),
    )


def thresholds_of(controls: Iterable[Estimate]) -> Thresholds:
    """The limits of a run by its A/A pairs of one judge.

    Their floor is the largest difference that a service showed from itself, by estimates of a first look at least:
    what a run reports of identical services it may neither call a difference nor promise to have excluded.
    The far ends of their intervals would be the wrong floor: the noisier a run, the more would be "no difference".
    """
    floor = max((abs(control.mean) for control in controls if control.n >= LOOKS[0]), default=0.0)
    return Thresholds(max(LEAST_DIFFERENCE, floor), max(DELTA, floor))


def contradiction_of(by_cpu: Estimate, by_goodput: Estimate | None) -> str:
    """Goodput's words where both judges show a difference and not the same one."""
    if by_goodput is None or by_cpu.interval().sign * by_goodput.interval().sign >= 0:
        return ""
    return f"{Metric.GOODPUT} says {by_goodput.percent:+.1f} %, {Metric.CPU} {by_cpu.percent:+.1f} %"


def _sum(sides: Iterable[Side]) -> Side:
    kept = list(sides)
    cpu = [side.cpu_s for side in kept]
    known = [value for value in cpu if value is not None]
    return Side(
        sum(side.successes for side in kept),
        sum(side.seconds for side in kept),
        sum(known) if len(known) == len(cpu) else None,
    )


def rounds_words(n: int) -> str:
    """`1 round`, `8 rounds`."""
    return f"{n} round{'' if n == 1 else 's'}"

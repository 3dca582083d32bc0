"""One pair of services: one value per round, by one metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.plan.interim_looks import LOOKS
from bench.stats.estimates import Estimate, log_ratio

LEAST_DIFFERENCE = math.log(1.02)
"""The smallest estimate that is called a difference."""
DELTA = math.log(1.03)
"""An interval within this counts as no difference."""
SAME_CPU = 0.03
"""|ln(CPU_B/CPU_A)| below which goodput is comparable for two CPU-bound servers."""
LEAST_SUCCESSES = 1000
LEAST_CPU_S = 0.5
"""A window counts if each side has this many successes or used this much CPU time."""


class Metric(StrEnum):
    """What a verdict is based on, as a speed: successes per CPU second, or per second."""

    CPU = "CPU per request"
    GOODPUT = "goodput"


@dataclass(frozen=True, slots=True)
class Side:
    """One service in a duet window; `cpu_s` includes its database and is None if unknown."""

    successes: int
    seconds: float
    cpu_s: float | None

    @property
    def enough(self) -> bool:
        """Whether the window holds enough to give a value."""
        return self.successes >= LEAST_SUCCESSES or (self.cpu_s is not None and self.cpu_s >= LEAST_CPU_S)

    def speed(self, metric: Metric) -> float | None:
        """Successes per CPU second or per second; None if unknown."""
        per = self.cpu_s if metric is Metric.CPU else self.seconds
        return self.successes / per if per else None


PairWindow = tuple[Side, Side]
"""A and B under load at the same time."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`least`: smallest estimate called a difference; `delta`: bound of an interval of no difference. Logarithms."""

    least: float = LEAST_DIFFERENCE
    delta: float = DELTA


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """B relative to A: one value per round, in the order of the rounds.

    `values` are those of `metric`. If that is CPU, `goodput` and `shares`, ln(CPU_B/CPU_A), cover the same rounds.
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
    """Compare one pair, given the valid windows of each round.

    A round's value is computed from the sums over its windows. Rounds without a large enough window are left out,
    and a flag counts them.
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
    flags = [f"{rounds_words(thin)} with too few responses"] if thin else []
    flags += [f"{rounds_words(unknown)} without a value for {metric}"] if unknown else []
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
    """The thresholds of a run, given the estimates of its A/A pairs by one metric.

    The noise floor is the largest estimate of an A/A pair that has reached its first interim look: a difference of that
    size between identical services can neither be called a difference nor be excluded.
    The outer ends of the intervals would be a wrong floor: a noisier run would then show more "no difference".
    """
    noise_floor = max((abs(control.mean) for control in controls if control.n >= LOOKS[0]), default=0.0)
    return Thresholds(max(LEAST_DIFFERENCE, noise_floor), max(DELTA, noise_floor))


def contradiction_of(by_cpu: Estimate, by_goodput: Estimate | None) -> str:
    """What to say if both metrics show a difference, in opposite directions; else empty."""
    if by_goodput is None or by_cpu.interval().sign * by_goodput.interval().sign >= 0:
        return ""
    figures = f"{Metric.GOODPUT} {by_goodput.percent:+.1f} %, {Metric.CPU} {by_cpu.percent:+.1f} %"
    return f"the metrics contradict each other: {figures}"


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

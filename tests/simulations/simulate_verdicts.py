"""How often the verdicts are wrong, on rounds of known truth.

    PYTHONPATH=. python3 tests/simulations/simulate_verdicts.py [PAIRS]

prints the figures for about PAIRS pairs in each line (default 2000); the tests run a few of the same lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np

from bench.analysis.comparison import DELTA, Comparison, Metric, Thresholds
from bench.analysis.verdicts import FASTER, NO_DIFFERENCE, NOT_ENOUGH, SLOWER, verdicts
from bench.plan.interim_looks import LOOKS
from bench.stats.estimates import estimate

Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""Values of mean 0 and standard deviation 1; the last axis is the rounds."""

LIMITS = Thresholds()
NO_LIMITS = Thresholds(0.0, 0.0)
"""Only the tests speak: any rejection is a difference, and none is ever excluded."""


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape)


def wild(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Student's t with 3 degrees of freedom."""
    return rng.standard_t(3, shape) / sqrt(3)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.exponential(size=shape) - 1


def sticky(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Each round keeps 0.3 of the one before: what the rounds' independence is there to prevent."""
    values = rng.normal(size=shape)
    for index in range(1, shape[-1]):
        values[..., index] = 0.3 * values[..., index - 1] + sqrt(1 - 0.09) * values[..., index]
    return values


@dataclass
class Tally:
    """What came of the pairs."""

    pairs: int = 0
    words: dict[str, int] = field(default_factory=dict)
    false: list[float] = field(default_factory=list)
    """Of each table, the share of its differences that are none, or the other way round."""
    missed: list[float] = field(default_factory=list)
    """Of each table, the share of the intervals of its differences that miss the truth."""
    any_false: int = 0
    covered: int = 0
    shown: int = 0
    found: int = 0
    to_find: int = 0
    within: int = 0
    denied: int = 0
    different: int = 0
    excess: list[float] = field(default_factory=list)
    """Percent points that the estimate of a found difference is too large."""
    rounds: int = 0
    lost: int = 0
    """Verdicts that a pair had when its measuring stopped, and not at the end."""

    def share(self, word: str) -> float:
        return self.words.get(word, 0) / self.pairs

    def line(self) -> str:
        wrong = self.share(FASTER) + self.share(SLOWER)
        parts = [
            f"faster or slower {wrong:.2%}, none {self.share(NO_DIFFERENCE):.1%}, open {self.share(NOT_ENOUGH):.1%}",
            f"false of those {np.mean(self.false):.2%} (tables with one {self.any_false / len(self.false):.1%})",
            f"their intervals miss {np.mean(self.missed):.2%}, all shown hold {self.covered / max(1, self.shown):.1%}",
            f"{self.rounds / self.pairs:.1f} rounds, lost {self.lost}",
        ]
        if self.to_find:
            parts.append(f"found {self.found / self.to_find:.1%}")
        if self.excess:
            off = np.array(self.excess)
            parts.append(f"estimate off by {off.mean():+.2f} points, within 1.5: {np.mean(abs(off) <= 1.5):.1%}")
        if self.different:
            parts.append(f"denied a difference of delta or more {self.denied / self.different:.2%}")
        return "; ".join(parts)


def simulate(
    tables: int,
    truths: Sequence[float],
    spread: float,
    limits: Thresholds = LIMITS,
    *,
    noise: Noise = normal,
    seed: int = 1,
) -> Tally:
    """Measure `tables` tables of pairs with these true differences as a run does: open pairs only, look by look."""
    rng, tally = np.random.default_rng(seed), Tally()
    for _ in range(tables):
        values = np.array(truths)[:, None] + spread * noise(rng, (len(truths), LOOKS[-1]))
        rounds, stopped = [LOOKS[0]] * len(truths), {}
        for look in LOOKS:
            rounds = [held if index in stopped else look for index, held in enumerate(rounds)]
            table = [
                Comparison(a="A", b="B", metric=Metric.CPU, values=tuple(map(float, row[:n])), limits=limits)
                for row, n in zip(values, rounds, strict=True)
            ]
            found = verdicts(table)
            tally.lost += sum(found[index].word != word for index, word in stopped.items())
            stopped |= {index: verdict.word for index, verdict in enumerate(found) if verdict.decided}
            if len(stopped) == len(truths):
                break
        differences = false = missed = 0
        for truth, verdict in zip(truths, found, strict=True):
            assert verdict.interval is not None and verdict.estimate is not None
            tally.words[verdict.word] = tally.words.get(verdict.word, 0) + 1
            tally.rounds += verdict.estimate.n
            tally.shown += 1
            holds = verdict.interval.low <= truth <= verdict.interval.high
            tally.covered += holds
            tally.to_find += truth != 0
            tally.different += abs(truth) >= limits.delta > 0
            tally.denied += verdict.word == NO_DIFFERENCE and abs(truth) >= limits.delta
            if verdict.word in (FASTER, SLOWER):
                differences += 1
                assert verdict.interval.sign == (1 if verdict.word == FASTER else -1)
                right = truth * verdict.interval.sign > 0
                false += not right
                missed += not holds
                if truth and right:
                    tally.found += 1
                    tally.excess.append(100 * (np.exp(abs(verdict.estimate.mean)) - np.exp(abs(truth))))
        tally.pairs += len(truths)
        tally.false.append(false / max(1, differences))
        tally.missed.append(missed / max(1, differences))
        tally.any_false += false > 0
    return tally


def coverage(samples: int, rounds: int, confidence: float, noise: Noise = normal, seed: int = 1) -> float:
    """The share of plain intervals that hold the truth."""
    rng, truth, held = np.random.default_rng(seed), 0.05, 0
    for row in truth + 0.02 * noise(rng, (samples, rounds)):
        found = estimate(map(float, row))
        assert found is not None
        interval = found.interval(confidence)
        held += interval.low <= truth <= interval.high
    return held / samples


def main(pairs: int) -> None:
    for noise in (normal, wild, skewed, sticky):
        for rounds in LOOKS:
            held = coverage(pairs, rounds, 0.95, noise)
            print(f"95 % interval, {noise.__name__} noise, {rounds} rounds: holds {held:.1%}", flush=True)
    for noise in (normal, wild, skewed, sticky):
        print(
            f"A/A, three looks alone, {noise.__name__}: {simulate(pairs, [0.0], 0.024, NO_LIMITS, noise=noise).line()}"
        )
    for spread in (0.024, 0.06):
        print(f"A/A, SD {spread:.1%}: {simulate(pairs, [0.0], spread).line()}", flush=True)
    for spread in (0.018, 0.024, 0.06):
        for percent in (3, 5, 10):
            truth = [log(1 + percent / 100)]
            print(f"{percent} %, SD {spread:.1%}: {simulate(pairs // 4, truth, spread).line()}", flush=True)
    print(f"at delta, SD 1.2 %: {simulate(pairs, [DELTA], 0.012, Thresholds(1.0, DELTA)).line()}", flush=True)
    for size in (5, 20, 50):
        for part in (0.0, 0.2, 0.8):
            changed = round(size * part)
            truths = [0.0] * (size - changed) + [log(1.03 + 0.07 * i / max(1, changed - 1)) for i in range(changed)]
            for limits, name in ((NO_LIMITS, "no limits"), (LIMITS, "limits")):
                tally = simulate(max(1, pairs // size), truths, 0.024, limits)
                print(f"table of {size}, {changed} of 3 to 10 %, SD 2.4 %, {name}: {tally.line()}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)

"""How often comparisons of runs are wrong, on made-up runs of known truth.

    PYTHONPATH=. python3 tests/simulations/simulate_runs.py [TABLES]

prints the figures for about TABLES tables in each line (default 300); the tests run a few of the same lines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import log, sqrt

import numpy as np

from bench.analysis.runs.differences import GOODPUT, P99, SPEED, FigureKey, Sample, Samples, run_differences
from bench.analysis.runs.trends import CHANGED, Trend, trends_of
from bench.stats.change_points import LEAST_RUNS

Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""Values of mean 0 and standard deviation 1; the last axis is the rounds."""
NULL = FigureKey("json", "wrk", "c64", "null", GOODPUT)


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


def key(number: int, figure: str = GOODPUT) -> FigureKey:
    return FigureKey("json", "wrk", "c64", f"service-{number}", figure)


def sample(values: Sequence[float], **facts: object) -> Sample:
    return Sample(tuple(map(float, values)), planned=len(values), **facts)  # type: ignore[arg-type]


def made_up(
    rng: np.random.Generator,
    levels: Sequence[float],
    *,
    rounds: int = 10,
    spread: float = 0.02,
    drift: float = 0.0,
    noise: Noise = normal,
    name: str = "run",
    figure: str = GOODPUT,
) -> Samples:
    """A run of cells at these levels (logarithms), all of them and the null server moved by `drift`.

    Another `figure` is one of a table: noise of 10 % is common to a round, and another level has another image.
    """
    values, facts = spread * noise(rng, (len(levels) + 1, rounds)) + drift, dict[str, object]()
    if figure != GOODPUT:
        values, facts = values + 0.1 * rng.normal(size=rounds), {"in_table": True, "rounds": tuple(range(rounds))}
    rows = enumerate(zip(values, levels, strict=False))
    cells = {key(number, figure): sample(row + level, **facts) for number, (row, level) in rows}
    images = {key(number).service: f"sha256:{level}" for number, level in enumerate(levels)}
    return Samples(name=name, cells=cells, null={NULL: sample(values[-1])}, images=images)


def compared(
    tables: int, truths: Sequence[float], *, drift: float = 0.0, seed: int = 1, **facts: object
) -> tuple[float, float, dict[str, float]]:
    """(share of tables with a false `differs`, share of true changes found, share of each word) of pairs of runs.

    `drift` is the standard deviation of what the host does to all of a run.
    """
    rng, false, found, words = np.random.default_rng(seed), 0, 0, dict[str, int]()
    for _ in range(tables):
        hosts = drift * rng.normal(size=2)
        one = made_up(rng, [0.0] * len(truths), drift=hosts[0], **facts)  # type: ignore[arg-type]
        other = made_up(rng, truths, drift=hosts[1], **facts)  # type: ignore[arg-type]
        wrong = 0
        for truth, row in zip(truths, run_differences(one, other), strict=True):
            words[row.word] = words.get(row.word, 0) + 1
            if row.word == "differs":
                assert row.ratio is not None
                right = truth * log(row.ratio) > 0
                found += right
                wrong += not right
        false += wrong > 0
    changed = sum(truth != 0 for truth in truths)
    total = tables * len(truths)
    return false / tables, found / max(1, tables * changed), {word: count / total for word, count in words.items()}


def history(
    rng: np.random.Generator, cells: int, runs: int, *, between: float = 0.01, noise: Noise = normal, **facts: object
) -> list[Samples]:
    """Runs without a change: `between` is what two runs of the same differ by, each cell for itself."""
    levels = between * noise(rng, (cells, runs))
    return [made_up(rng, levels[:, run], name=f"r{run:02}", **facts) for run in range(runs)]  # type: ignore[arg-type]


def changed(found: Sequence[Trend]) -> list[tuple[str, str]]:
    """(service, run) of each change that is called one."""
    return [(one.service, change.run) for one in found for change in one.changes if change.word == CHANGED]


def any_change(tables: int, cells: int, runs: int, *, seed: int = 1, **facts: object) -> tuple[float, float]:
    """The share of tables of unchanged histories in which one is said to have changed; and of those looked at twice."""
    rng, wrong, cut = np.random.default_rng(seed), 0, 0
    for _ in range(tables):
        found = trends_of(history(rng, cells, runs, **facts))  # type: ignore[arg-type]
        wrong += bool(changed(found))
        cut += any(one.adjusted_p is not None and one.adjusted_p <= 0.05 for one in found)
    return wrong / tables, cut / tables


def main(tables: int) -> None:
    for noise in (normal, wild, skewed, sticky):
        print(f"no change, {noise.__name__}: {compared(tables, [0.0] * 20, noise=noise)}", flush=True)
    for drift in (0.01, 0.03, 0.1):
        print(f"no change, host SD {drift:.0%}: {compared(tables, [0.0] * 20, drift=drift)}", flush=True)
    for percent in (5, 7, 10, 15):
        for spread in (0.02, 0.04):
            truths = [log(1 + percent / 100)] + [0.0] * 9
            told = compared(tables, truths, spread=spread)
            print(f"{percent} % in one of ten, SD {spread:.0%}: {told}", flush=True)
    for figure, rounds, spread in ((SPEED, 5, 0.02), (SPEED, 7, 0.02), (P99, 5, 0.2)):
        for noise in (normal, wild, skewed):
            how = {"figure": figure, "rounds": rounds, "spread": spread, "noise": noise, "drift": 0.1}
            told = compared(tables, [0.0] * 8, **how)  # type: ignore[arg-type]
            print(f"no change, {figure}, {rounds} rounds, SD {spread:.0%}, {noise.__name__}: {told}", flush=True)
            truths = [log(2.0 if figure == P99 else 1.1)] + [0.0] * 7
            told = compared(tables, truths, **how)  # type: ignore[arg-type]
            print(f"{truths[0]:.2f} in one of eight: {told}", flush=True)
    for runs in (LEAST_RUNS, 12, 30):
        for noise in (normal, wild, sticky):
            told = any_change(tables, 10, runs, noise=noise)
            print(
                f"history of {runs} runs, 10 cells, {noise.__name__}: changed {told[0]:.1%}, cut {told[1]:.1%}",
                flush=True,
            )
            told = any_change(tables, 1, runs, noise=noise, between=0.05)
            print(
                f"history of {runs} runs, 1 cell, SD 5 %, {noise.__name__}: changed {told[0]:.1%}, cut {told[1]:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)

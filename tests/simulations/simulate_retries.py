"""Whether measuring spoiled windows again favours a service, on made-up windows of known truth.

    PYTHONPATH=. python3 tests/simulations/simulate_retries.py [TABLES]

prints, for TABLES tables of eight services and eight rounds (default 20000), how far the first service is off against
the mean of the others: all are the same in truth. A window is spoiled if the foreign CPU time that its turns saw is
above a limit; it is measured again at once, whatever it showed, as long as the table's budget lasts, and refused then.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from math import exp, pi, sqrt

import numpy as np
from scipy.stats import norm

SERVICES, ROUNDS = 8, 8
SPREAD = 0.03
"""Of one service in one window."""
LIMIT = 0.05
"""Foreign CPU above this spoils a window."""


@dataclass(frozen=True)
class Noise:
    """What foreign CPU time there is, and what it does."""

    bursts: float = 0.3
    """The share of time in which another program runs; bursts last three windows on average."""
    cost: float = 1.0
    """ln(value) lost per share of foreign CPU."""
    first: float = 1.0
    """The first service loses this times as much."""
    own: float = 0.0
    """The share of its windows that the first service spoils by itself."""
    link: float = 0.0
    """Correlation of what it spoils with its own slowness: 1 if it spoils exactly its slowest windows."""


@dataclass(frozen=True)
class Outcome:
    """`bias` of the first service against the others, its standard `error`, and `spread` between tables."""

    bias: float
    error: float
    spread: float
    again: float
    """Windows measured again, of those planned."""
    refused: float

    def line(self) -> str:
        return (
            f"off by {self.bias:+.2%} (+-{1.96 * self.error:.2%}), SD of a table {self.spread:.2%}, "
            f"measured again {self.again:.0%}, refused {self.refused:.0%}"
        )


def simulate(
    tables: int, noise: Noise, *, budget: float = 0.5, refuse: bool = True, keep: bool = False, seed: int = 1
) -> Outcome:
    """Tables whose spoiled windows are measured again, up to `budget` of the planned ones; or taken as they are.

    What is spoiled when the budget is spent is refused, or taken with `keep`, as bench/load/in_turns.py does.
    """
    rng = np.random.default_rng(seed)
    left = np.full(tables, round(budget * ROUNDS) if refuse else 0)
    sums, kept, again = np.zeros(tables), np.zeros(tables), 0
    burst = rng.random(tables) < noise.bursts
    for _ in range(ROUNDS):
        todo = np.ones(tables, bool)
        while todo.any():
            values, spoiled, burst = _window(rng, noise, burst, todo)
            taken = todo & (~spoiled | (left == 0)) if keep else todo & ~spoiled if refuse else todo
            sums[taken] += (values[:, 0] - values[:, 1:].mean(axis=1))[taken]
            kept[taken] += 1
            todo &= spoiled & (left > 0)
            left -= todo
            again += int(todo.sum())
    told = kept > 0
    off = sums[told] / kept[told]
    return Outcome(
        float(sums.sum() / kept.sum()),
        float(off.std() / sqrt(told.sum())),
        float(off.std()),
        again / tables / ROUNDS,
        1 - float(kept.mean()) / ROUNDS,
    )


def _window(
    rng: np.random.Generator, noise: Noise, burst: np.ndarray, now: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values [tables, services] of a window, whether it is spoiled, and whether another program runs after it."""
    tables = len(burst)
    stay, begin = 2 / 3, noise.bursts / (1 - noise.bursts) / 3
    burst = np.where(now, rng.random(tables) < np.where(burst, stay, begin), burst)
    clock = np.where(burst, rng.exponential(0.15, tables), 0.01 * rng.random(tables))
    # Turns share a burst, but not exactly.
    foreign = clock[:, None] * rng.gamma(4.0, 0.25, (tables, SERVICES))
    slow = rng.normal(size=(tables, SERVICES))
    values = -SPREAD * slow - noise.cost * foreign * np.where(np.arange(SERVICES) == 0, noise.first, 1.0)
    trigger = noise.link * slow[:, 0] + sqrt(1 - noise.link**2) * rng.normal(size=tables)
    own = trigger > norm.isf(noise.own) if noise.own else np.zeros(tables, bool)
    return values, (foreign.mean(axis=1) > LIMIT) | own, burst


def worst(share: float, spread: float = SPREAD) -> float:
    """The bias if a service's slowest `share` of windows are left out: of its own errors, without the others'."""
    cut = norm.isf(share)
    return spread * exp(-(cut**2) / 2) / sqrt(2 * pi) / (1 - share)


def main(tables: int) -> None:
    for name, noise in (
        ("the clock's noise, 30 % of the time", Noise()),
        ("the clock's noise, 60 % of the time", Noise(bursts=0.6)),
        ("the same, and the first service loses twice as much", Noise(bursts=0.6, first=2.0)),
    ):
        print(f"{name}: taken as it is: {simulate(tables, noise, refuse=False).line()}")
        for budget in (0.0, 0.5, 2.0):
            print(f"{name}: budget {budget:.0%}: {simulate(tables, noise, budget=budget).line()}", flush=True)
        print(f"{name}: budget 50%, then taken as it is: {simulate(tables, noise, keep=True).line()}", flush=True)
        free = replace(noise, cost=0.0)
        for words, kept in (("", simulate(tables, free, refuse=False)), ("again, ", simulate(tables, free, keep=True))):
            print(f"{name}: a figure that noise does not move: {words}{kept.line()}", flush=True)
    for share in (0.02, 0.05, 0.1, 0.3, 0.5):
        for link in (0.0, 0.3, 1.0):
            found = simulate(tables, Noise(bursts=0.1, own=share, link=link))
            print(
                f"a service spoils {share:.0%} of its windows, link to its slowness {link}: {found.line()}; "
                f"in theory {link * worst(share):+.2%}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)

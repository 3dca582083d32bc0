"""How often tables measured in turns are wrong, and how soon they answer, on made-up windows of known truth.

    PYTHONPATH=. python3 tests/simulations/simulate_tables.py [TABLES] [PART...]

prints the figures for TABLES tables in each line (default 500). Parts: errors, erratic, power (default: all).
The tests run a few of the same lines.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log

import numpy as np

from bench.stats.table_family import look_level
from bench.stats.table_fit import Observation, fit_table
from bench.stats.table_verdicts import EQUAL, FASTER, MARGIN, NO_WINNER, SLOWER, differences

LOOKS = (4, 6, 8, 12)


@dataclass(frozen=True)
class Spread:
    """Errors of a table: standard deviations, as logarithms."""

    window: float = 0.03
    """Of one service in one window."""
    start: float = 0.015
    """Of a service from round to round, the same in all windows of the round."""
    scales: tuple[float, ...] = ()
    """Each service's share of both, repeated for further services; none: all alike."""
    wild: float = 0.0
    """The share of rounds in which all errors are five times as large."""
    missing: float = 0.0
    """The share of observations that are refused."""
    kinds: float = 0.0
    """Of what moves half of the services up and the others down, all together, in a round."""
    shape: str = "normal"
    coin: float = 0.0
    """How far the two kinds of containers are apart, of which each service gets one in each round."""
    coins: int = 0
    """How many services have such a coin; 0: all."""
    odds: float = 0.5
    """How often a container is of the slow kind. The mean over many rounds is that of the other services."""
    drift: float = 0.0
    """Of each service, over all rounds."""
    bias: float = 0.0
    """Of turns, one for each service."""
    steady: float | None = None
    """Of the steady part of a service's window, beside the window's own error; None: there is no such part."""


def observations(
    rng: np.random.Generator, truths: Sequence[float], rounds: int, spread: Spread, *, windows: int = 1, block: int = 8
) -> list[Observation]:
    """Rounds of blocks drawn anew, each with its windows."""
    count, made, number = len(truths), [], 0
    scales = np.resize(np.array(spread.scales or (1.0,)), count)
    blocks = -(-count // block)

    def noise(*shape: int) -> np.ndarray:
        if spread.shape == "heavy":
            return rng.standard_t(3, shape) / 3**0.5
        return rng.exponential(size=shape) - 1 if spread.shape == "skewed" else rng.normal(size=shape)

    biases, drifts = spread.bias * noise(count), spread.drift * noise(count)
    flips = np.arange(count) < (spread.coins or count)
    for name in range(1, rounds + 1):
        size = 5.0 if rng.random() < spread.wild else 1.0
        start = size * spread.start * scales * noise(count)
        start += size * spread.kinds * rng.normal() * np.where(np.arange(count) % 2, 1, -1)
        start += drifts * (name / rounds - 0.5)
        start += flips * spread.coin * (spread.odds - (rng.random(count) < spread.odds))
        for members in np.array_split(rng.permutation(count), blocks):
            for _ in range(windows):
                number += 1
                level = 0.3 * rng.normal()
                values = level + start[members] + size * spread.window * scales[members] * noise(len(members))
                kept = rng.random(len(members)) >= spread.missing
                free = values if spread.steady is None else values + spread.steady * noise(len(members))
                seen = zip(*(part[kept].tolist() for part in (members, values, free)), strict=True)
                for place, value, steady in seen:
                    own = None if spread.steady is None else truths[place] + steady
                    made.append(Observation(name, number, f"s{place:02}", truths[place] + value + biases[place], own))
    return made


@dataclass
class Tally:
    """What came of the tables; `held`, `shown`: [looks, contrasts]; `called`: [looks]."""

    tables: int
    held: np.ndarray
    shown: np.ndarray
    missed: np.ndarray
    called: np.ndarray
    same: np.ndarray
    widths: np.ndarray
    false: int = 0
    denied: int = 0
    """Differences of the margin or more that are called none at any look, of `different`."""
    different: int = 0

    @property
    def coverage(self) -> np.ndarray:
        """Of each look: the share of own 95 % intervals that hold the truth."""
        return self.held.sum(axis=1) / self.shown.sum(axis=1)

    def line(self, looks: Sequence[int]) -> str:
        each = self.held / np.maximum(self.shown, 1)
        figures = (self.coverage, each.min(axis=1), each.max(axis=1), self.missed / self.tables, self.widths)
        words = "{}: own hold {:.1%} ({:.0%} to {:.0%}), family misses {:.1%}, +-{:.1%}"
        parts = [words.format(look, *shares) for look, *shares in zip(looks, *figures, strict=True)]
        false, denied = self.false / self.tables, self.denied / max(1, self.different)
        return f"{'; '.join(parts)} | false verdict {false:.1%}, denied {denied:.2%}"


def simulate(
    tables: int,
    truths: Sequence[float],
    spread: Spread,
    *,
    looks: Sequence[int] = LOOKS,
    windows: int = 1,
    block: int = 8,
    least: float = 0.0,
    margin: float = MARGIN,
    leave: bool = False,
    seed: int = 1,
) -> Tally:
    """Measure tables to the last look; every word at every look counts, as if measuring could stop at any of them.

    With `leave`, services whose differences are all decided are not measured on: what is left is smaller blocks.
    `called` and `same` count differences of neighbours (truths n and n + 1).
    """
    rng, level = np.random.default_rng(seed), look_level(looks)
    pairs = list(combinations(range(len(truths)), 2))
    shape = (len(looks), len(pairs))
    tally = Tally(tables, np.zeros(shape), np.zeros(shape), *(np.zeros(len(looks)) for _ in range(4)))
    for _ in range(tables):
        made = observations(rng, truths, looks[-1], spread, windows=windows, block=block)
        false, denied, last = False, set[int](), dict[str, int]()
        for at, look in enumerate(looks):
            fit = fit_table([one for one in made if one.round <= min(look, last.get(one.service, look))])
            found = differences(fit, level, margin, least)
            if leave:
                open_ones = {name for names, one in found.items() if one.word == NO_WINNER for name in names}
                last = {name: look for name in fit.services if name not in open_ones} | last
            missed, widths = False, []
            for index, (i, j) in enumerate(pairs):
                truth, names = truths[i] - truths[j], (f"s{i:02}", f"s{j:02}")
                one, own = found.get(names), fit.contrast(*names) if fit.effects.keys() >= set(names) else None
                if one is None or own is None or own.error is None:
                    continue
                alone = own.interval(0.95)
                tally.shown[at, index] += 1
                tally.held[at, index] += alone.low <= truth <= alone.high
                half = one.half_width
                widths.append(half)
                missed |= abs(one.estimate - truth) > half
                false |= one.word in (FASTER, SLOWER) and truth * (1 if one.word == FASTER else -1) <= 0
                if one.word == EQUAL and abs(truth) > margin - 1e-9:
                    denied.add(index)
                if j == i + 1:
                    tally.called[at] += one.word == (FASTER if truth > 0 else SLOWER)
                    tally.same[at] += one.word == EQUAL
            tally.missed[at] += missed
            tally.widths[at] += np.median(widths) / tables
        tally.false += false
        tally.denied += len(denied)
        tally.different += sum(abs(truths[i] - truths[j]) > margin - 1e-9 for i, j in pairs)
    tally.called /= tables * (len(truths) - 1)
    tally.same /= tables * (len(truths) - 1)
    return tally


HALF, ONE, GRADED = (1.0,) * 4 + (3.0,) * 4, (3.0,) + (1.0,) * 7, tuple(np.linspace(1, 3, 8).tolist())
CONDITIONS = {
    "alike": Spread(),
    "windows 5 %, starts 1 %": Spread(0.05, 0.01),
    "windows 2 %, starts 3 %": Spread(0.02, 0.03),
    "one service three times as noisy": Spread(0.02, 0.01, ONE),
    "half of them three times": Spread(0.02, 0.01, HALF),
    "from one to three times": Spread(0.02, 0.01, GRADED),
    "one wild round in ten": Spread(wild=0.1),
    "one observation in ten missing": Spread(missing=0.1),
    "wild, missing, one to three times": Spread(0.02, 0.01, GRADED, wild=0.1, missing=0.1),
    "kinds of services move together": Spread(kinds=0.02),
    "heavy tails": Spread(shape="heavy"),
    "skewed": Spread(shape="skewed"),
}
TURNED = Spread(0.02, 0.0, bias=0.01, steady=0.03)
"""Windows and their steady parts, as on a quiet machine."""
ERRATIC = {
    "normal": TURNED,
    "heavy tails": replace(TURNED, shape="heavy"),
    "two kinds of containers of one service, 5 % apart": replace(TURNED, coin=0.05, coins=1),
    "two kinds of containers of all services, 5 % apart": replace(TURNED, coin=0.05),
    "each service drifts by 1 %": replace(TURNED, drift=0.01),
    "one service 10 % slower in one of five rounds": replace(TURNED, coin=0.1, coins=1, odds=0.2),
    "one service 20 % slower in one of five rounds": replace(TURNED, coin=0.2, coins=1, odds=0.2),
    "one service half as fast in one of five rounds": replace(TURNED, coin=log(2), coins=1, odds=0.2),
}
PILOT = {
    # Standard deviations per service and round: half-widths of 2 to 3.6 % and 0.9 to 2.6 % at eight rounds, t(7).
    "one window, quiet": Spread(0.017, 0.0, tuple(np.linspace(1, 1.8, 8).tolist())),
    "two windows, quiet": Spread(0.0, 0.0076, tuple(np.linspace(1, 2.9, 8).tolist())),
    "one window, beside a hog": Spread(0.035, 0.0, tuple(np.linspace(1, 1.9, 8).tolist())),
}


def errors(tables: int) -> None:
    for count, windows, share in ((8, 1, 1), (8, 2, 1), (20, 1, 4), (20, 2, 4), (3, 1, 1)):
        for name, spread in CONDITIONS.items():
            tally = simulate(max(20, tables // share), [0.0] * count, spread, windows=windows)
            print(f"{count} services, {windows} windows, {name}: {tally.line(LOOKS)}", flush=True)
    truths = [MARGIN * (place // 2) for place in range(8)]
    for spread in (Spread(0.01, 0.003), Spread(0.02, 0.01)):
        tally = simulate(tables, truths, spread)
        print(f"four pairs of twins, apart by the margin, {spread.window:.0%}: {tally.line(LOOKS)}", flush=True)
    truths = [0.0] * 3 + [0.1 * place for place in range(1, 6)]
    for name, spread in CONDITIONS.items():
        tally = simulate(tables, truths, spread, leave=True)
        print(f"three twins and five others, what is decided leaves, {name}: {tally.line(LOOKS)}", flush=True)


def erratic(tables: int) -> None:
    for looks in ((6,), (6, 8, 12)):
        for name, spread in ERRATIC.items():
            tally = simulate(tables, [0.0] * 8, spread, looks=looks, least=log(1.02))
            print(f"8 services, {name}, looks {looks}: {tally.line(looks)}", flush=True)


def power(tables: int) -> None:
    for name, spread in PILOT.items():
        for percent in (5, 10):
            truths = [log(1 + percent / 100) * place for place in range(8)]
            for looks in ((4, 5, 6, 7, 8, 10, 12), (4, 8, 12), (4, 8), (5, 10), (6, 12), (8,), (8, 16)):
                tally = simulate(tables // 4, truths, spread, looks=looks, least=log(1.02))
                called = ", ".join(f"{look}: {share:.0%}" for look, share in zip(looks, tally.called, strict=True))
                print(f"{name}, steps of {percent} %, looks {looks}: called {called}", flush=True)
        tally = simulate(tables // 4, [0.0] * 8, spread, looks=(4, 8, 12), least=log(1.02))
        called = ", ".join(f"{look}: {share:.0%}" for look, share in zip((4, 8, 12), tally.same, strict=True))
        print(f"{name}, all the same: equal {called}", flush=True)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    parts = {"errors": errors, "erratic": erratic, "power": power}
    for part in sys.argv[2:] or parts:
        parts[part](number)

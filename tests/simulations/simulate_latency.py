"""How often percentiles of latency call equal services apart, and how soon they see a difference, on made-up requests.

    PYTHONPATH=. python3 tests/simulations/simulate_latency.py [TABLES] [ROUNDS...]

prints, for TABLES tables (default 500) of eight services in each condition: the share of tables with a false
difference of p50 or p99, and the share of pairs that are called where p99 of half of the services is twice as high.
The tests run a few of the same lines.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.signal import lfilter

from bench.stats.table_quantiles import differences_of, family_level
from bench.stats.table_verdicts import FASTER, SLOWER

SHARES = {"p50": 0.5, "p99": 0.99}
SERVICES = 8
MEMORY = 0.98
"""How much of a request's speed the next one has: some 50 requests belong together."""


@dataclass(frozen=True)
class Host:
    """Requests/s, how a slot's length differs, and what a host does to a service under it; spreads are logarithms."""

    rate: int = 1000
    slot_s: float = 1.0
    rounds: float = 0.03
    """Of a service from round to round."""
    drift: float = 0.1
    """Of requests that belong together."""
    stalls: float = 0.0
    """Stalls per second, which take `stall_s` on average."""
    stall_s: float = 0.0
    kinds: float = 1.0
    """Half of the containers take this many times as long."""


HOSTS = {
    "calm": Host(),
    "drifting": Host(rounds=0.1, drift=0.3),
    "a stall of 30 ms in one round of three": Host(rounds=0.05, drift=0.2, stalls=0.3, stall_s=0.03),
    "a stall of 200 ms in one round of ten": Host(rounds=0.05, drift=0.2, stalls=0.1, stall_s=0.2),
    "three stalls of 20 ms in every round": Host(rounds=0.05, drift=0.2, stalls=3, stall_s=0.02),
    "two kinds of containers, one 1.5 times as slow": Host(kinds=1.5),
}


def latencies(rng: np.random.Generator, host: Host, busy: float, tail: float = 1.0) -> np.ndarray:
    """Of one slot, in seconds: requests at a fixed rate wait for the one before them, and for what stalls the host.

    `busy` is the share of the time that requests take; three in a hundred take `tail` times as long.
    """
    count = round(host.rate * host.slot_s)
    together = lfilter([1.0], [1.0, -MEMORY], rng.normal(size=count) * host.drift * (1 - MEMORY**2) ** 0.5)
    takes = busy / host.rate * np.exp(rng.normal() * host.rounds + together + 0.3 * rng.normal(size=count))
    takes *= np.where(rng.random(count) < 0.03, tail, 1.0) * (host.kinds if rng.random() < 0.5 else 1.0)
    stalls = rng.poisson(host.stalls * host.slot_s)
    due = np.concatenate([np.arange(count) / host.rate, rng.random(stalls) * host.slot_s])
    work = np.concatenate([takes, rng.exponential(host.stall_s, stalls)])
    order = np.argsort(due, kind="stable")
    done = np.cumsum(work[order])
    ends = done + np.maximum.accumulate(due[order] - (done - work[order]))
    return np.asarray((ends - due[order])[order < count])


def quantile(values: np.ndarray, share: float) -> float:
    return float(np.sort(values)[int(np.ceil(share * len(values) - 1e-9)) - 1])


def words_of(
    rng: np.random.Generator, host: Host, tails: Sequence[float], rounds: int, busy: float = 0.3
) -> dict[str, dict[tuple[int, int], str]]:
    """The verdicts of a table on every two services, by percentile: i against j."""
    slots = [[latencies(rng, host, busy, tail) for _ in range(rounds)] for tail in tails]
    found = {}
    for name, share in SHARES.items():
        own = {str(i): {turn: quantile(one, share) for turn, one in enumerate(each)} for i, each in enumerate(slots)}
        merged = {str(i): quantile(np.concatenate(each), share) for i, each in enumerate(slots)}
        judged = differences_of(own, merged, family_level(len(SHARES)))
        found[name] = {(int(i), int(j)): one.word for (i, j), one in judged.items() if i < j}
    return found


def false_tables(host: Host, rounds: int, tables: int, seed: int = 1) -> int:
    """In how many tables of equal services any two are called apart."""
    rng = np.random.default_rng(seed)
    each = (words_of(rng, host, [1.0] * SERVICES, rounds) for _ in range(tables))
    return sum(any(word in (FASTER, SLOWER) for own in one.values() for word in own.values()) for one in each)


def called_pairs(host: Host, rounds: int, tables: int, tail: float, seed: int = 1) -> float:
    """Which share of pairs is called where every other service takes `tail` times as long for three in a hundred."""
    rng, tails = np.random.default_rng(seed), [tail if place % 2 else 1.0 for place in range(SERVICES)]
    pairs = [(i, j) for i, j in product(range(SERVICES), repeat=2) if i < j and tails[i] != tails[j]]
    found = [words_of(rng, host, tails, rounds)["p99"] for _ in range(tables)]
    right = [one[i, j] == (FASTER if tails[i] < tails[j] else SLOWER) for one in found for i, j in pairs]
    return float(np.mean(right))


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    rng, tail, calm = np.random.default_rng(1), 4.0, HOSTS["calm"]
    both = (np.concatenate([latencies(rng, calm, 0.3, one) for _ in range(200)]) for one in (1.0, tail))
    usual, slow = (quantile(one, 0.99) for one in both)
    print(f"p99 of the slower half on a calm host: {slow / usual:.2f} times that of the others")
    for rounds, (name, host) in product(map(int, sys.argv[2:] or ("6", "8", "11")), HOSTS.items()):
        false, called = false_tables(host, rounds, tables), called_pairs(host, rounds, max(1, tables // 5), tail)
        print(f"{rounds} rounds, {name}: false in {false} of {tables} tables; {called:.0%} called", flush=True)


if __name__ == "__main__":
    main()

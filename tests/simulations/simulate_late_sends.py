"""Whether the upper bound of a percentile holds for a load that was sent late, on made-up servers and clients.

    PYTHONPATH=. python3 tests/simulations/simulate_late_sends.py [LOADS]

Each load is made twice, with the same work for each request: by a client that sends all of them when they are due,
which has the true percentile, and by one that stops now and then and sends what is overdue at once. Prints, for LOADS
loads (default 200) of each server and client, how often the bound was below the true percentile, and the median of
bound to truth. The tests run a few of the same lines.
"""

from __future__ import annotations

import heapq
import sys
from array import array
from collections.abc import Callable, Mapping
from itertools import product
from statistics import median

import numpy as np

from bench.analysis.cells.latency import Distribution, due_percentile
from bench.tools.send_lag import Attack, lag_facts, latency_facts, quantile

RATE, REQUESTS, ROUNDS = 1800.0, 1440, 5
SHARES = {"p50": 0.5, "p99": 0.99}

Times = list[float]
Server = Callable[[Times, Times], Times]
"""Given when requests come and what work each is, in seconds: when each has its response."""


def in_order(workers: int) -> Server:
    """Each worker serves one request at a time, in the order in which they come."""

    def serve(comes: Times, work: Times) -> Times:
        free, done = [0.0] * workers, []
        for at, takes in zip(comes, work, strict=True):
            end = max(at, heapq.heappop(free)) + takes
            heapq.heappush(free, end)
            done.append(end)
        return done

    return serve


def shared(comes: Times, work: Times) -> Times:
    """All requests that are there share one CPU evenly."""
    done, left = [0.0] * len(comes), list[tuple[float, int]]()
    now = served = 0.0  # `served`: how much work each has had that was there all the time
    for number, at in enumerate([*comes, float("inf")]):
        while left and now + (left[0][0] - served) * len(left) <= at:
            now += (left[0][0] - served) * len(left)
            served, first = heapq.heappop(left)
            done[first] = now
        if number < len(comes):
            served += (at - now) / len(left) if left else 0.0
            now = at
            heapq.heappush(left, (served + work[number], number))
    return done


SERVERS: Mapping[str, Server] = {"one worker": in_order(1), "four workers": in_order(4), "one CPU, shared": shared}
CLIENTS = {"0.3 ms, 200 times a second": (0.0003, 200), "2 ms, 20 times": (0.002, 20)}
CLIENTS |= {"8 ms, 10 times": (0.008, 10), "20 ms, 4 times": (0.02, 4)}
"""How long a client stops each time on average, and how often a second."""


def sent(rng: np.random.Generator, stop_s: float, often: float) -> Times:
    """When a client sends its requests, of which the first is due at 0."""
    due = np.arange(REQUESTS) / RATE
    late = due + rng.exponential(5e-5, REQUESTS)
    for begin in rng.random(rng.poisson(often * REQUESTS / RATE)) * REQUESTS / RATE:
        end = begin + rng.exponential(stop_s)
        late = np.where((late >= begin) & (late < end), end, late)
    return [*map(float, np.maximum.accumulate(late))]


def load(rng: np.random.Generator, server: Server, stop_s: float, often: float) -> tuple[Times, Distribution]:
    """One round: the true latencies, and what is known of the late load."""
    due = [number / RATE for number in range(REQUESTS)]
    workers = 4 if server is SERVERS["four workers"] else 1
    work = [*map(float, rng.lognormal(np.log(0.45 * workers / RATE), 0.5, REQUESTS))]
    truth = [end - at for end, at in zip(server(due, work), due, strict=True)]
    comes = sent(rng, stop_s, often)
    took = [end - at for end, at in zip(server(comes, work), comes, strict=True)]
    attack = Attack(*(array("q", (round(1e9 * one) for one in each)) for each in (comes, took)))
    lag, saved = lag_facts(attack, RATE, 10_000), latency_facts(attack, RATE)
    counts, own = (dict(zip(one["ns"], one["counts"], strict=True)) for one in (saved, saved["due"]))
    behind = round(1e9 * lag["lag_s"]["p50"])
    return truth, Distribution(REQUESTS, counts, own, behind, REQUESTS)


def bounds(rng: np.random.Generator, server: Server, stop_s: float, often: float) -> dict[str, tuple[float, float]]:
    """The true percentile of all rounds together and its bound, by name."""
    rounds = [load(rng, server, stop_s, often) for _ in range(ROUNDS)]
    truth = sorted(value for one, _ in rounds for value in one)
    known = [one for _, one in rounds]
    found = {name: (quantile(truth, share), due_percentile(known, share, bound=True)) for name, share in SHARES.items()}
    return {name: (true, bound or 0.0) for name, (true, bound) in found.items()}


def ratios(server: str, client: str, loads: int, seed: int = 1) -> dict[str, list[float]]:
    """Bound to truth, of so many loads."""
    rng = np.random.default_rng(seed)
    found = [bounds(rng, SERVERS[server], *CLIENTS[client]) for _ in range(loads)]
    return {name: [own[name][1] / own[name][0] for own in found] for name in SHARES}


def main() -> None:
    loads = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for server, client in product(SERVERS, CLIENTS):
        for name, found in ratios(server, client, loads).items():
            # Latencies are saved to three digits.
            below = sum(ratio < 0.995 for ratio in found)
            words = f"bound below {name} in {below} of {loads}, {median(found):.2f} times it (median)"
            print(f"{server}, client stops for {client}: {words}", flush=True)


if __name__ == "__main__":
    main()

"""The cost of a network: the null server's requests/s over an overlay and a bridge, relative to the host's network."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.core.errors import UserError
from bench.tools import parse

NETWORKS = ("host", "overlay", "bridge")


def network_cost(argv: Sequence[str]) -> int:
    """`network FOLDER`: print each network's requests/s, and their ratio to the host network's in the same round."""
    if len(argv) != 1:
        raise UserError("network takes a folder; see scripts/harness-cost.sh")
    rates = read_rates(Path(argv[0]))
    for name in NETWORKS:
        print(words(name, rates))
    return 0


def read_rates(folder: Path) -> dict[str, list[float]]:
    """Requests/s of each round by network, from ROUND.NETWORK.txt; UserError if one is missing or has errors."""
    rates: dict[str, list[float]] = {}
    rounds = sorted({int(path.name.partition(".")[0]) for path in folder.glob("*.*.txt")})
    if not rounds:
        raise UserError(f"{folder} has no output of wrk")
    for name in NETWORKS:
        rates[name] = [_rate(folder / f"{number}.{name}.txt") for number in rounds]
    return rates


def _rate(path: Path) -> float:
    try:
        output = path.read_bytes()
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing: that network was not measured in every round") from error
    parsed = parse("wrk", output)
    if not parsed.ok or not parsed.duration_s or parsed.ok != parsed.requests:
        raise UserError(f"{path}: {parsed.failure or 'not every request was answered well'}")
    return parsed.ok / parsed.duration_s


def words(name: str, rates: Mapping[str, Sequence[float]]) -> str:
    """A line about one network; ratios are within a round, because the machine's speed changes between rounds."""
    ratios = [rate / host for rate, host in zip(rates[name], rates["host"], strict=True)]
    rate = statistics.median(rates[name])
    if name == "host":
        return f"host: {rate:,.0f} requests/s, median of {len(ratios)} rounds"
    lowest, highest = median_interval(ratios)
    middle = statistics.median(ratios)
    return f"{name}: {rate:,.0f} requests/s, {middle:.2f} of the host's ({lowest:.2f} to {highest:.2f})"


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The interval of order statistics with at least 95 % confidence for the median; of fewer than six values, all."""
    ordered, tail, outside = sorted(values), 0.0, 0
    for number in range(len(ordered) // 2):
        tail += math.comb(len(ordered), number) / 2 ** len(ordered)
        if tail > 0.025:
            break
        outside = number
    return ordered[outside], ordered[-1 - outside]

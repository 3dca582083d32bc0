"""Runs of pairs, as raw files, with speeds that are known."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from make_run import entry, output_of, write_measurement, write_run

SECONDS = 2.0
Speed = Callable[[random.Random], tuple[float, float]]
"""Successes per second, and CPU seconds of a window."""


def steady(rate: float, cpu_s: float, spread: float = 0.01) -> Speed:
    def speed(rng: random.Random) -> tuple[float, float]:
        return rate * (1 + spread * rng.gauss(0, 1)), cpu_s * (1 + spread * rng.gauss(0, 1))

    return speed


def write_pairs(
    folder: Path,
    pairs: Iterable[tuple[str, str, str, Speed, Speed]],
    rounds: int,
    measured: int,
    *,
    scenario: str = "json",
    level: str = "c16",
    bad: int = 0,
    tool: dict[str, Any] | None = None,
) -> Path:
    """A run of pairs (name, stack of a, stack of b, speeds), of whose rounds only the first are measured."""
    rng = random.Random(7)
    lines: list[dict[str, Any]] = []
    written: list[tuple[dict[str, Any], Speed]] = []
    listed = []
    for number, (name, a, b, speed_a, speed_b) in enumerate(pairs, 1):
        for round_number in range(1, rounds + 1):
            for window in (1, 2):
                for side, stack, speed in (("a", a, speed_a), ("b", b, speed_b)):
                    unit = f"r{round_number:02}-{number:04}"
                    place = {"id": f"{unit}-{window}{side}", "unit": unit, "mode": "duet", "pair": name, "side": side}
                    place |= {"window": window, "slot": 1 if side == "a" else 2, "duration_s": SECONDS, "seconds": 8}
                    place |= {"dir": f"raw/r{round_number:02}/pairs/{name}/{window}{side}"}
                    line = entry(stack, scenario, "wrk", level, number=number, round=round_number, **place)
                    lines.append(line)
                    if round_number <= measured:
                        written.append((line, speed))
        names = [entry(stack)["service"] for stack in (a, b)]
        cell = {"scenario": scenario, "tool": "wrk", "level": level, "waits": scenario.startswith(("delay", "db"))}
        listed.append({"name": name, "a": names[0], "b": names[1]} | cell)
    write_run(folder, lines, pairs=listed, rounds=0, duet_rounds=rounds, mode="duet")
    for line, speed in written:
        rate, cpu_s = speed(rng)
        write_measurement(folder, line, output_of(line, rate, bad), cpu_s=cpu_s, tool=tool)
    return folder


SAME = steady(4000, 0.9)

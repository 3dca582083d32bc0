"""The measurements of a plan, round by round, each round in its own random order."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from typing import Any

from bench.plan.cells import NULL, OVERHEAD_S, PAIR_OVERHEAD_S, Cell, NullCell, Pair, Plan
from bench.plan.levels import Level


def measurements(plan: Plan, seed: int) -> list[dict[str, Any]]:
    """One line of plan.jsonl each: every cell, pair and control once a round, each round in its own random order."""
    rng = random.Random(seed)
    lines: list[dict[str, Any]] = []
    for number in range(1, plan.rounds + 1):
        units: list[Cell | Pair | NullCell] = [*plan.cells] if number <= plan.solo_rounds else []
        units += [p for p in plan.pairs if p.control or number <= plan.duet_rounds]
        units += plan.nulls
        rng.shuffle(units)
        if number == 1:
            # The shares of a knee need it.
            units.sort(key=lambda unit: isinstance(unit, Cell) and unit.level.knee_share is not None)
        for position, unit in enumerate(units, 1):
            if isinstance(unit, Pair):
                # The side that is started first.
                first = rng.choice("ab")
                sides = _pair_lines(plan, unit, number, position)
                lines += ({**line, "slot": 1 if line["side"] == first else 2} for line in sides)
            elif isinstance(unit, NullCell):
                lines.append(_null_line(plan, unit, number, position))
            else:
                lines.append(_line(plan, unit, number, position))
    return lines


def _pair_lines(plan: Plan, pair: Pair, number: int, position: int) -> Iterable[dict[str, Any]]:
    """Two windows, each with a line for either side."""
    unit, folder = f"r{number:02}-{position:04}", f"raw/r{number:02}/pairs/{pair.name}"
    for window, (side, cell) in itertools.product((1, 2), (("a", pair.a), ("b", pair.b))):
        yield _line(plan, cell, number, position) | {
            "id": f"{unit}-{window}{side}",
            "mode": "duet",
            "unit": unit,
            "pair": pair.name,
            "side": side,
            "window": window,
            "duration_s": plan.duet_seconds,
            "seconds": 2 * plan.duet_seconds + plan.preset.warmup + PAIR_OVERHEAD_S,
            "dir": f"{folder}/{window}{side}",
        }


def _null_line(plan: Plan, null: NullCell, number: int, position: int) -> dict[str, Any]:
    level = null.level
    return {
        **dict.fromkeys(("package", "body", "count", "rate")),
        **dict.fromkeys(("service", "server", "framework", "python", "base"), NULL),
        "id": f"r{number:02}-{position:04}",
        "mode": "null",
        "round": number,
        "position": position,
        "scenario": null.scenario,
        "route": null.route.name,
        "method": null.route.method,
        "path": null.path,
        "tool": null.tool,
        "level": level.name,
        "connections": level.connections,
        "duration_s": plan.preset.duration,
        "timeout_s": plan.preset.timeout,
        "threads": _threads(level, plan.loadgen_cpus),
        "keepalive": plan.preset.keepalive,
        "warmup_s": plan.preset.warmup,
        "seconds": plan.preset.duration + plan.preset.warmup + OVERHEAD_S,
        "dir": f"raw/r{number:02}/{NULL}/{null.scenario}/{null.tool}-{level.name}",
    }


def _line(plan: Plan, cell: Cell, number: int, position: int) -> dict[str, Any]:
    service, level = cell.service, cell.level
    return {
        "id": f"r{number:02}-{position:04}",
        "round": number,
        "position": position,
        "service": service.name,
        "server": service.server.name,
        "framework": service.framework.name,
        "python": service.python,
        "base": service.base,
        "package": service.package,
        "scenario": cell.scenario,
        "route": cell.route.name,
        "database": cell.route.database,
        "method": cell.route.method,
        "path": cell.path,
        "body": cell.route.body,
        "tool": cell.tool,
        "level": level.name,
        "connections": level.connections,
        "count": level.count,
        "rate": level.rate,
        "knee_p99_s": level.knee_p99_s,
        "knee_share": level.knee_share,
        "duration_s": None if level.count else plan.preset.duration,
        "timeout_s": plan.preset.timeout,
        "threads": _threads(level, plan.loadgen_cpus),
        "keepalive": plan.preset.keepalive,
        "warmup_s": plan.preset.warmup,
        "seconds": plan.seconds(cell),
        "dir": f"raw/r{number:02}/{service.name}/{cell.scenario}/{cell.tool}-{level.name}",
    }


def _threads(level: Level, cpus: int) -> int:
    """Wrk drops the connections that do not divide by its threads: take a number that does."""
    connections = level.connections or 1
    return max(t for t in range(1, cpus + 1) if connections % t == 0)

"""Reads the trials of a search for a knee, and the knees that a run has found so far."""

from __future__ import annotations

import re
from pathlib import Path

from bench.core.errors import UserError
from bench.core.files import as_object, mapping, read_bytes
from bench.plan.levels import SEARCHED
from bench.records.knee import Trial, is_positive, trial_of
from bench.tools import parse
from bench.tools.send_lag import read_lag

_TRIAL = re.compile(r"(\d+)-(\d+)-\d+\Z", re.ASCII)


def trials_of(folder: Path) -> list[Trial]:
    """The trials in a measurement's folder, in their order."""
    trials = []
    named = sorted(
        (int(found[1]), int(found[2]), path) for path in folder.glob("trials/*") if (found := _TRIAL.match(path.name))
    )
    for _, rate, path in named:
        output = read_bytes(f"{path}/output.json")
        parsed = None if output is None else parse("vegeta", output)
        lag = read_lag(as_object(read_bytes(f"{path}/lag.json") or b""))
        trials.append(trial_of(rate, parsed, lag, output or b""))
    return trials


def _found(path: Path) -> int | None:
    """The knee in a search's knee.json; None if it found none, or took one over from elsewhere."""
    facts = mapping(as_object(read_bytes(str(path)) or b""))
    rate = facts.get("rate")
    searched = facts.get("reason") is None and facts.get("found_in") is None and facts.get("share") is None
    return rate if searched and isinstance(rate, int) and is_positive(rate) else None


def earlier_knee(folder: Path) -> tuple[str, int] | None:
    """(round, knee) of the first earlier round that found this cell's; `folder` is .../ROUND/SERVICE/SCENARIO/CELL."""
    own, service, scenario, cell = folder.parts[-4:]
    for path in sorted(Path(*folder.parts[:-4]).glob(f"r*/{service}/{scenario}/{cell}/knee.json")):
        name = path.parts[-5]
        if name < own and (rate := _found(path)) is not None:
            return name, rate
    return None


def slowest_knee(folder: Path, limit_s: float) -> tuple[str, int]:
    """("ROUND SERVICE", knee) of the lowest knee in this run and scenario; UserError where none was found."""
    scenario = folder.parts[-2]
    found: dict[str, tuple[str, int]] = {}
    cell = f"vegeta-{knee_level(limit_s)}"
    for path in sorted(Path(*folder.parts[:-4]).glob(f"r*/*/{scenario}/{cell}/knee.json")):
        if (rate := _found(path)) is not None:
            found.setdefault(path.parts[-4], (f"{path.parts[-5]} {path.parts[-4]}", rate))
    if not found:
        raise UserError(f"this level is a share of a knee, but none of {scenario} was found in this run")
    return min(found.values(), key=lambda where_rate: where_rate[1])


def knee_level(limit_s: float) -> str:
    """The name of the level that searches the knee for this limit."""
    return f"{SEARCHED}p99-{round(1000 * limit_s)}ms"

"""How much of the wall time of a run's tables in turns is load, from its raw files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.core.errors import UserError

LEAST, SERVICES = 0.5, 8
"""The share of the wall time that a table of so many services or more is to be loaded for."""
LONGEST_GAP_S = 60.0
"""A longer time between two blocks is that of a run which was interrupted."""


@dataclass(frozen=True, slots=True)
class BlockTime:
    """One block: when it began and ended, the load of all its turns, and what they waited for at their end; in s."""

    services: int
    began: float
    ended: float
    load: float
    drain: float


def load_share(argv: Sequence[str]) -> int:
    """`load RUN`: print a line for the run's tables; exit status 1 where eight or more services have too little."""
    if len(argv) != 1:
        raise UserError("load takes a run; see scripts/harness-cost.sh")
    blocks = sorted(block_times(Path(argv[0])), key=lambda block: block.began)
    if not blocks:
        raise UserError(f"{argv[0]} has no table in turns")
    wall = wall_seconds(blocks)
    load, drain = sum(block.load for block in blocks), sum(block.drain for block in blocks)
    most, share = max(block.services for block in blocks), load / wall
    verdict = ("holds" if share >= LEAST else "MISSED") if most >= SERVICES else f"a goal from {SERVICES} services on"
    figure = f"{share:.0%}: {load:.0f} of {wall:.0f} s, and {drain:.0f} s for answers under way"
    print("| figure | at least | here | |", "| --- | --- | --- | --- |", sep="\n")
    print(f"| load of tables, {len(blocks)} blocks of up to {most} services | {LEAST:.0%} | {figure} | {verdict} |")
    return int(verdict == "MISSED")


def block_times(folder: Path) -> Iterator[BlockTime]:
    """The blocks of which something was measured."""
    for place in sorted(folder.glob("raw/r*/blocks/b*")):
        tools = [json.loads(path.read_text()) for path in sorted(place.glob("*/*/*/*/tool.json"))]
        metas = [json.loads(path.read_text()) for path in sorted(place.glob("*/*/*/*/meta.json"))]
        turns = [tool["turns"] for tool in tools]
        if turns and metas:
            services = len({path.parent.name for path in place.glob("*/*/*/*/tool.json")})
            load, drain = (sum(turn[name] for turn in turns) / 1e9 for name in ("load_ns", "drain_ns"))
            yield BlockTime(services, metas[0]["begin_ns"] / 1e9, metas[0]["end_ns"] / 1e9, load, drain)


def wall_seconds(blocks: Sequence[BlockTime]) -> float:
    """From the begin of the first to the end of the last one, with what comes between two of them."""
    gaps = [later.began - one.ended for one, later in pairwise(blocks)]
    return sum(block.ended - block.began for block in blocks) + sum(gap for gap in gaps if gap <= LONGEST_GAP_S)

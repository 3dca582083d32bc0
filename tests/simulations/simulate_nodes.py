"""How long a run takes on several machines: its own plan, with measured costs, played through.

    PYTHONPATH=. python3 tests/simulations/simulate_nodes.py RAW SELECTION...

prints a line for each number of machines. RAW is the raw.tar.xz of a published run in turns: how long its blocks took,
beside what their plan expected, is drawn from for each block. SELECTION is as in scripts/matrix.sh. Of a run on several
machines this has the plan and the measuring, and neither builds, transport of images nor verification.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from bench.cli.arguments import parse_selection
from bench.cli.plan import plan_of
from bench.core.errors import UserError
from bench.plan.cells import Plan, blocks

MACHINES = (2, 8, 32)
TIMES = 200


def pairs_of(machines: int) -> int:
    """Servers under test, each with a load generator of its own; of three machines or more, one only supports."""
    return 1 if machines == 2 else (machines - 1) // 2


def planned_units(plan: Plan) -> list[list[float]]:
    """The expected seconds of what is measured without a break on one pair of nodes, for each round.

    A block of services in turns is one such unit, and so is a window alone.
    """
    groups = [(len(names), tables) for tables in plan.table_groups for names in blocks(tables)]
    in_turns = [plan.block_seconds(count, tables) for count, tables in groups]
    rated = [plan.block_seconds(count, tables, rated=True) for count, tables in groups]
    alone = [plan.seconds(cell) for cell in plan.alone]
    return [
        [
            *((rated if number in plan.rate_rounds else in_turns) if number <= plan.turn_rounds else ()),
            *(alone if number <= plan.solo_rounds else ()),
            *(plan.seconds(null) for null in plan.nulls if number <= plan.null_rounds(null)),
        ]
        for number in range(1, plan.rounds + 1)
    ]


def measured_ratios(begins: Sequence[tuple[int, float]]) -> list[float]:
    """Measured against planned time of each block but the last: (begin in ns, planned seconds), in order of time.

    From one begin to the next: with containers, warm-up and everything in between.
    """
    return [(later - begin) / 1e9 / planned for (begin, planned), (later, _) in pairwise(begins)]


def read_begins(archive: Path) -> list[tuple[int, float]]:
    """When each block of a published run in turns began, and what its plan expected it to take."""
    plan: dict[str, dict[str, object]] = {}
    begins: dict[str, int] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.endswith("/plan.jsonl") or member.name == "plan.jsonl":
                plan = {line["id"]: line for line in map(json.loads, _text(tar, member).splitlines())}
            elif member.name.endswith("/meta.json"):
                meta = json.loads(_text(tar, member))
                if "begin_ns" in meta:
                    begins[meta["id"]] = meta["begin_ns"]
    first: dict[str, tuple[int, float]] = {}
    for name, begin in begins.items():
        if not plan.get(name, {}).get("unit"):
            # Alone.
            continue
        unit, planned = str(plan[name]["unit"]), float(str(plan[name]["seconds"]))
        first[unit] = min(first.get(unit, (begin, planned)), (begin, planned))
    if len(first) < 2:
        raise UserError(f"{archive} has no blocks of services in turns")
    return sorted(first.values())


def _text(tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
    file = tar.extractfile(member)
    return file.read().decode() if file else ""


def makespan(rounds: Iterable[Sequence[float]], pairs: int) -> float:
    """Seconds until all is measured: a unit of each pair begins, and the next ones when all have ended."""
    waves = (units[first : first + pairs] for units in rounds for first in range(0, len(units), pairs))
    return sum(map(max, waves))


def drawn(planned: Sequence[Sequence[float]], ratios: Sequence[float], rng: random.Random) -> Iterator[list[float]]:
    """The rounds in random order, each unit as much longer or shorter than planned as one that was measured."""
    for units in planned:
        yield [seconds * rng.choice(ratios) for seconds in rng.sample(units, len(units))]


def simulated(planned: Sequence[Sequence[float]], ratios: Sequence[float], machines: int, times: int) -> list[float]:
    """The times of so many runs on these machines, in seconds, from the shortest."""
    rng = random.Random(machines)
    return sorted(makespan(drawn(planned, ratios, rng), pairs_of(machines)) for _ in range(times))


def main(argv: Sequence[str]) -> int:
    if len(argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    options = parse_selection(argv[1:])
    plan, _, _ = plan_of(options)
    planned = planned_units(plan)
    ratios = measured_ratios(read_begins(Path(argv[0])))
    hours, mean = sum(map(sum, planned)) / 3600, statistics.fmean(ratios)
    units = sum(map(len, planned))
    print(f"{len(plan.services)} services, {len(planned)} rounds, {units} units, {hours:.1f} h as planned")
    print(f"{len(ratios)} blocks took {mean:.2f} of their plan ({min(ratios):.2f} to {max(ratios):.2f})")
    one = statistics.median(simulated(planned, ratios, MACHINES[0], TIMES))
    for machines in MACHINES:
        times = simulated(planned, ratios, machines, TIMES)
        middle = statistics.median(times)
        print(
            f"{machines} machines, {pairs_of(machines)} pairs: {middle / 3600:.1f} h "
            f"({times[0] / 3600:.1f} to {times[-1] / 3600:.1f} in {TIMES} runs), {one / middle:.1f} times as fast"
        )
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except UserError as error:
        sys.exit(f"simulate_nodes: {error}")

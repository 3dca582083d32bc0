"""Verbs of steps side by side on pairs of nodes: `lanes`, `lane-compose`, `lanes-speed-up`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.analysis.runs.side_by_side import KEY
from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.core.files import as_object, mapping, read_bytes, write_file
from bench.core.lanes import lane_folder
from bench.run.reader import read_run
from bench.swarm.lanes import Lane, lane_compose, lanes_of, of_largest_kinds, run_entry
from bench.words.runs.side_by_side import speed_up_words

FILE, NODES, EVER = "lanes.tsv", "nodes.tsv", "nodes-ever.tsv"


def lanes_verb(argv: Sequence[str]) -> int:
    """`lanes RUN SUBNET <ROLES`: choose the pairs of a run on a swarm; what is said of them is printed.

    ROLES is what `scripts/swarm.sh roles` prints. Writes RUN/lanes.tsv with `LANE SUBNET DATABASE_CPUS` where there are
    two or more, the nodes of all but the first in RUN/lanes/N, and the entry in RUN/run.json.
    """
    parser = Parser("lanes")
    parser.add_argument("run", type=Path)
    parser.add_argument("subnet")
    options = parser.parse_args(argv)
    run, roles = options.run, sys.stdin.read().splitlines()
    # Its last lines are the nodes that were chosen now.
    ever = (run / EVER).read_text().splitlines()
    facts = as_object(read_bytes(str(run / "run.json")) or b"")
    if facts is None:
        raise UserError(f"{run}/run.json is not a JSON object")
    _, left_out = of_largest_kinds(roles, ever)
    knobs = {name: str(value) for name, value in mapping(facts.get("knobs")).items()}
    lanes = lanes_of(roles, ever, options.subnet, knobs)
    entry = run_entry(lanes, left_out, mapping(facts.get(KEY)))
    if entry["most"] > 1 or entry["left_out"]:
        write_file(run / "run.json", json.dumps({**facts, KEY: entry}, indent=1) + "\n")
    _write(run, lanes)
    if len(lanes) > 1:
        pairs = (f"{lane.server[1]} with load generator {lane.loadgen[1]}" for lane in lanes)
        print(f"{len(lanes)} pairs of nodes side by side: {'; '.join(pairs)}")
    if left_out:
        print(f"left out, as figures of other nodes are not compared: {'; '.join(left_out)}")
    return 0


def _write(run: Path, lanes: Sequence[Lane]) -> None:
    (run / FILE).unlink(missing_ok=True)
    for lane in lanes[1:]:
        folder = lane_folder(run, lane.number)
        folder.mkdir(parents=True, exist_ok=True)
        nodes = "".join("\t".join(node) + "\n" for node in lane.nodes)
        with (folder / EVER).open("a") as file:
            file.write(nodes)
        write_file(folder / NODES, nodes)
    if len(lanes) > 1:
        write_file(run / FILE, "".join(f"{one.number}\t{one.subnet}\t{one.database_cpus}\n" for one in lanes))


def lane_compose_verb(argv: Sequence[str]) -> int:
    """`lane-compose PROJECT DATABASE_CPUS <COMPOSE`: print the run's Compose file for the lane of this project."""
    if len(argv) != 2:
        raise UserError("usage: python3 -m bench lane-compose PROJECT DATABASE_CPUS <COMPOSE")
    print(json.dumps(lane_compose(json.load(sys.stdin), argv[0], argv[1]), indent=1))
    return 0


def lanes_speed_up_verb(argv: Sequence[str]) -> int:
    """`lanes-speed-up RUN`: print how much faster the run was on its pairs than on one."""
    if len(argv) != 1:
        raise UserError("usage: python3 -m bench lanes-speed-up RUN")
    print(speed_up_words(read_run(argv[0])))
    return 0

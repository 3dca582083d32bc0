"""Measures steps in parallel on a swarm: each lane is a pair of nodes with its own Compose project.

The first lane is the run itself. The planner decides which step is measured on which lane (bench/drive/waves.py).
"""

from __future__ import annotations

import json
from contextlib import suppress

from driver.compose import FILE
from driver.docker import DockerError
from driver.engines.nodes import Nodes
from driver.failure import RUN, Failure
from driver.files import save
from driver.machines.far_compose import lane_compose
from driver.machines.node import EVER, read_lanes, read_nodes
from driver.machines.setup import fill_nodes, make_network, remove_from_nodes
from driver.messages import STEP
from driver.run import Run
from driver.steps.measure import measure_step
from driver.together import together


def ready_lanes(run: Run) -> None:
    """Prepares all lanes but the first, which is the run."""
    count = len(read_lanes(run))
    together(lambda number: _ready_lane(run.on_lane(number)), range(2, count + 1), max(1, count))


def _ready_lane(run: Run) -> None:
    compose = json.loads((run.folder / FILE).read_text())
    made = lane_compose(compose, run.project, read_lanes(run)[run.lane - 1].database_cpus)
    save(run.lane_folder / FILE, json.dumps(made, indent=1) + "\n")
    engine = Nodes(run)
    make_network(engine.run)
    fill_nodes(engine)
    engine.start_dependencies()


def measure_wave(run: Run) -> None:
    """Measures a step on each lane that has one. If one fails as a whole (a lost node), the others finish first."""
    lanes = [run.on_lane(number) for number, _ in enumerate(read_lanes(run), 1)]
    asked = [lane for lane in lanes if (lane.lane_folder / STEP).exists()]
    together(_measure_lane, asked, max(1, len(asked)))


def _measure_lane(run: Run) -> None:
    engine = Nodes(run)
    if not engine.know_dependencies():
        engine.check()
        names = " ".join(node.name for node in engine.nodes.values())
        raise Failure(RUN, f"the database, upstream or load generator of nodes {names} is gone")
    measure_step(engine)


def remove_lanes(run: Run) -> None:
    """Removes the lanes that any call of the run had, except the first, which is removed as the run itself."""
    numbers = sorted(int(folder.name) for folder in run.folder.glob("lanes/*") if folder.name.isdecimal())
    lanes = [lane for lane in map(run.on_lane, numbers) if read_nodes(lane.lane_folder / EVER)]
    with suppress(Failure, DockerError):
        together(remove_from_nodes, lanes, max(1, len(lanes)))

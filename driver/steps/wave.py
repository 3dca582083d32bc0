"""The verb `measure`: the chosen step, or a wave of steps, one on each pair of nodes at the same time."""

from __future__ import annotations

from driver.engines.of_run import engine_of
from driver.failure import RUN, Failure
from driver.messages import STEP
from driver.nodes.node import read_lanes
from driver.run import Run
from driver.steps.measure import measure_and_choose, measure_step
from driver.steps.next import next_step, run_and_limit


def main(argv: list[str]) -> int:
    """`measure RUN [--max-time SECONDS]`: measures the chosen step, or one on each pair of nodes; then as `next`."""
    run, max_time_s = run_and_limit("measure", argv)
    if read_lanes(run):
        measure_wave(run)
        return next_step(engine_of(run), max_time_s)
    return measure_and_choose(engine_of(run), max_time_s)


def measure_wave(run: Run) -> None:
    """Measures a step on each lane that has one. If a lane fails (such as by a lost node), the others finish first."""
    from driver.parallel import together

    lanes = [run.on_lane(number) for number, _ in enumerate(read_lanes(run), 1)]
    asked = [lane for lane in lanes if (lane.lane_folder / STEP).exists()]
    together(_measure_lane, asked, max(1, len(asked)))


def _measure_lane(run: Run) -> None:
    from driver.engines.nodes import Nodes

    engine = Nodes(run)
    if not engine.know_dependencies():
        engine.check()
        names = " ".join(node.name for node in engine.nodes.values())
        raise Failure(RUN, f"the database, upstream or load generator of nodes {names} is gone")
    measure_step(engine)

"""Chooses the engine of a run."""

from __future__ import annotations

import os

from driver.engines.protocol import Engine
from driver.machines.node import NODES
from driver.run import Run


def is_composed() -> bool:
    """Whether `docker-compose up bench` has started all containers."""
    return os.environ.get("BENCH_ENGINE") == "composed"


def engine_of(run: Run) -> Engine:
    """The environment says whether this is `docker-compose up bench`; a run on several machines has a file of them."""
    if is_composed():
        from driver.engines.composed import Composed

        return Composed(run)
    if (run.lane_folder / NODES).exists():
        from driver.engines.nodes import Nodes

        return Nodes(run)
    from driver.engines.local import LocalDocker

    return LocalDocker(run)

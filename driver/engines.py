"""Which engine a run is on."""

from __future__ import annotations

import os

from driver.engine import Engine
from driver.node import NODES
from driver.run import Run


def engine_of(run: Run) -> Engine:
    """`docker-compose up bench` says so itself; a run on several machines has a file that names them."""
    if os.environ.get("BENCH_ENGINE") == "composed":
        from driver.composed import Composed

        return Composed(run)
    if (run.lane_folder / NODES).exists():
        from driver.nodes import Nodes

        return Nodes(run)
    from driver.local import LocalDocker

    return LocalDocker(run)

"""The engine that a run uses."""

from __future__ import annotations

from driver.engines.engine import Engine, is_composed
from driver.nodes.node import NODES
from driver.run import Run


def engine_of(run: Run) -> Engine:
    """The engine of a run: an environment variable marks `docker-compose up bench`, and nodes.tsv several machines."""
    if is_composed():
        return Engine(run)
    if (run.lane_folder / NODES).exists():
        from driver.engines.nodes import Nodes

        return Nodes(run)
    from driver.engines.local import LocalDocker

    return LocalDocker(run)

"""Starts what lasts as long as the run, and prepares a user's own app."""

from __future__ import annotations

from driver.engines.engine import engine_of
from driver.nodes.setup import ready_nodes
from driver.run import open_run
from driver.services.own_app import ready_own_app


def main(argv: list[str]) -> int:
    """`begin RUN`: after the build, prepares nodes and starts database, upstream and load generator."""
    run = open_run(argv[0])
    ready_nodes(run)
    engine = engine_of(run)
    engine.start_dependencies()
    ready_own_app(engine)
    return 0

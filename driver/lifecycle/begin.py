"""The first and the last verb of a run: start what it needs throughout (`begin`), and write the report (`report`)."""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size

from driver.engines.engine import Engine, is_composed
from driver.engines.of_run import engine_of
from driver.failure import RUN, Failure, in_place, say
from driver.nodes.setup import ready_nodes
from driver.run import open_run
from driver.services.own_app import ready_own_app


def main(argv: list[str]) -> None:
    """`begin RUN`: after the build, prepares nodes and starts database, upstream and load generator."""
    run = open_run(argv[0])
    ready_nodes(run)
    engine = engine_of(run)
    engine.start_dependencies()
    ready_own_app(engine)


def report(argv: list[str]) -> None:
    """`report RUN`: builds the report and prints its path."""
    write_report(engine_of(open_run(argv[0])))


def write_report(engine: Engine) -> None:
    """Builds the report and prints its path; Failure if nothing was measured."""
    folder = f"results/{engine.run.name}"
    done = engine.bench("build", *_for_reader(), folder)
    print(done.err, end="", file=sys.stderr, flush=True)
    if done.status:
        raise Failure(RUN, f"bench build ended with status {done.status}")
    if is_composed():
        say(f"{folder}/index.html, report.md (docker-compose down ends the services)")
        return
    print(f"{folder}/report.md", flush=True)
    say(f"{folder}/index.html")
    if words := engine.told("nothing-measured", engine.run.name).strip():
        raise Failure(RUN, words)


def _for_reader() -> list[str]:
    """Options for the printed summary: as wide as the terminal, with colors unless NO_COLOR (no-color.org)."""
    if os.environ.get("BENCH_QUIET"):
        return ["--quiet"]
    colors = in_place() and not os.environ.get("NO_COLOR")
    return ["--width", str(min(120, get_terminal_size().columns)), *(["--colors"] if colors else [])]

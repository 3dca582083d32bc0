"""Builds the report at the end of a run."""

from __future__ import annotations

import os
import sys

from driver.engines.engine import Engine, engine_of, is_composed
from driver.failure import RUN, Failure, say
from driver.run import open_run


def main(argv: list[str]) -> int:
    """`report RUN`: builds it and prints its path."""
    write_report(engine_of(open_run(argv[0])))
    return 0


def write_report(engine: Engine) -> None:
    """Failure if nothing was measured."""
    folder = f"results/{engine.run.name}"
    _bench(engine, "build", *(["--quiet"] if os.environ.get("BENCH_QUIET") else []), folder)
    if is_composed():
        say(f"{folder}/index.html, report.md (docker-compose down ends the services)")
        return
    print(f"{folder}/report.md", flush=True)
    say(f"{folder}/index.html")
    words = _bench(engine, "nothing-measured", engine.run.name).strip()
    if words:
        raise Failure(RUN, words)


def _bench(engine: Engine, verb: str, *words: str) -> str:
    done = engine.bench(verb, *words)
    print(done.err, end="", file=sys.stderr, flush=True)
    if done.status:
        raise Failure(RUN, f"bench {verb} ended with status {done.status}")
    return done.out

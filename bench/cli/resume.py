"""`find` and `resume`: the run that a script is asked for by name or path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bench.cli.arguments import minutes_as_seconds
from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.core.files import mapping, read_bytes
from bench.run.folder import in_results
from bench.run.host_json import host_json
from bench.run.provenance import harness_hash
from bench.run.reader import Run, read_run
from driver.messages import HOST

NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
"""What Compose takes in the name of a project."""


def find_verb(argv: Sequence[str]) -> int:
    """`find RUN`: print the name of a run given by name or path; UserError where it is not one in results/."""
    print(in_results(argv[0] if argv else "").name)
    return 0


def resume_verb(argv: Sequence[str]) -> int:
    """`resume --run=RUN [--max-time MINUTES]`: print the run's name and, if given, the time limit in seconds.

    UserError where the project or the plan has changed since: figures of two versions are never mixed, and what is
    started is what was planned.
    """
    parser = Parser("matrix.sh --resume RUN")
    parser.add_argument("--run", default="")
    parser.add_argument("--max-time", type=minutes_as_seconds)
    options = parser.parse_args(argv)
    folder = in_results(options.run)
    if not NAME.fullmatch(folder.name):
        raise UserError(f"'{folder.name}' cannot go on: rename it, with a-z, 0-9, '-' and '_' only")
    source = read_run(str(folder))
    harness = mapping(source.facts.get("harness"))
    if harness.get("hash") != harness_hash():
        planned_by = str(harness.get("version", "the version that measured it"))
        raise UserError(
            f"the project has changed since {folder.name} was planned: start a new run, or check out {planned_by}"
        )
    if edited := ", ".join(_edited(source)):
        raise UserError(f"{folder.name} is not as it was planned, start a new run: {edited}")
    print(folder.name, "" if options.max_time is None else f"{options.max_time:.0f}")
    return 0


def _edited(source: Run) -> Iterator[str]:
    yield from source.changed
    try:
        planned = host_json(source.facts["services"], source.facts.get("own_app"))
    except (KeyError, TypeError, AttributeError):
        yield "run.json"
        return
    if read_bytes(f"{source.path}/{HOST}") != planned.encode():
        yield HOST

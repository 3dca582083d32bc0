"""The verb that the loop on the host calls between two steps. Those of the load generator do not import the journal."""

from __future__ import annotations

from collections.abc import Sequence

from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.drive.next_step import Shown, next_step
from bench.drive.progress import Screen
from bench.run.folder import find_run


def next_verb(argv: Sequence[str]) -> int:
    """`next RUN --elapsed SECONDS`: record the last step, print how far the run is, write the next to RUN/step.json.

    SECONDS are those since the caller's script began; `--begin` is for the first call of a loop, with `--lanes N` for
    up to N steps side by side: those of lanes 2 to N are in RUN/lanes/N/step.json. The exit status is 0 with a step, 3
    when nothing is left, 4 when the time is up: the last line printed then says how to go on.
    """
    parser = Parser("next")
    parser.add_argument("run")
    parser.add_argument("--elapsed", type=float, required=True)
    parser.add_argument("--begin", action="store_true")
    parser.add_argument("--max-time", type=float)
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--columns", type=int, default=0)
    parser.add_argument("--colour", action="store_true")
    options = parser.parse_args(argv)
    folder = find_run(options.run)
    shown = Shown(options.elapsed, Screen(options.quiet, options.columns, options.colour))
    try:
        status = next_step(folder, shown, begin=options.begin, max_time_s=options.max_time, lanes=options.lanes)
    except OSError as error:
        raise UserError(f"cannot write to {error.filename or folder}: {error.strerror}") from error
    print(*shown.lines, sep="\n", end="\n" if shown.lines else "")
    return status

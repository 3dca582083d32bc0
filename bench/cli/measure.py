"""measure - one step, from the load generator's side.

usage: measure VERB RUN_DIR [LOAD_NAME]

RUN_DIR/step.json describes its loads: one, or those of services that take turns, each with a name. `prepare` and
`run` are of the whole step, `command` of one load, the first without a name.

  command  prints the load tool's command line and runs nothing; of a search for a knee, the
           command line of its first trial
  prepare  polls the services until their first good answers. One that is measured alone is then
           warmed up; prints the times "ready NS" and "warm NS" (nanoseconds since the epoch).
           A level that asks for a knee is then searched: every trial in trials/, the result in
           knee.json
  run      runs the load tools, in turns if there are several, and saves their output; tool.json is
           the last file. Under events it first warms up, and finds out what each service holds.

Settings, by environment, in seconds: READY_TIMEOUT (30, until the first good answer),
ANSWER_TIMEOUT (15, for one answer outside the load). BENCH_DEBUG=1 traces every call and every command.

Exit status: 0 done; 1 an unexpected failure; 2 wrong usage, or a load that the tool cannot make;
10 the service did not start, or answers no more; 11 it answers wrongly; 12 the load tool failed
(after run, tool.json says how), or its output could not be saved.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.load.failures import WRONG_USAGE, Failed, explained

if TYPE_CHECKING:
    from types import FrameType

VERBS = ("command", "prepare", "run")
UNEXPECTED, INTERRUPTED = 1, 130
_HERE = str(Path(__file__).parents[1])


def measure(argv: Sequence[str]) -> None:
    """Run one verb; raises Failed if it ends with a status other than 0."""
    if argv[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    verb, *words = argv or [""]
    if verb not in VERBS:
        known = f"{', '.join(VERBS[:-1])} or {VERBS[-1]}"
        raise Failed(WRONG_USAGE, f"unknown verb '{verb}': {known} (measure --help)")
    if len(words) not in (1, 2):
        raise Failed(WRONG_USAGE, f"usage: measure {verb} RUN_DIR [LOAD_NAME]")
    _do(verb, *words)


def _do(verb: str, run: str, name: str = "") -> None:
    from bench.load import verbs
    from bench.load.task import read_step

    step = read_step(run)
    task = step.task(name)
    if verb == "command":
        from bench.load.failures import command_line

        print(command_line(verbs.command(task)))
    elif task.planned.event:
        from bench.load import side_by_side

        (side_by_side.wait_for_all if verb == "prepare" else side_by_side.load_events)(step)
    elif task.planned.in_block:
        from bench.load import in_turns

        (in_turns.wait_for_all if verb == "prepare" else in_turns.load_windows)(step)
    elif verb == "prepare":
        verbs.prepare_alone(step, partial(print, flush=True))
    else:
        verbs.run_alone(step)


def _trace() -> None:
    """Trace every call of the project's functions, and every command, to stderr."""

    def call(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_HERE):
            print(f"+ {os.path.basename(code.co_filename)}:{code.co_firstlineno}: {code.co_name}", file=sys.stderr)

    def command(event: str, words: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            print("+", *words[1], file=sys.stderr)

    sys.addaudithook(command)
    sys.setprofile(call)


def main() -> int:
    """Run the verb of the command line and return the exit status; if it fails, with one line on stderr."""
    if os.environ.get("BENCH_DEBUG") == "1":
        _trace()
    try:
        measure(sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # the last line on stderr always says what went wrong
        sys.setprofile(None)
        print(f"measure: {explained(error)}", file=sys.stderr)
        return error.status if isinstance(error, Failed) else UNEXPECTED
    return 0


if __name__ == "__main__":
    sys.exit(main())

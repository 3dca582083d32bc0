"""python3 -m driver VERB RUN [OPTION...]: one verb of the host's side of a run; called by the scripts.

Exit statuses: 0; 1: failed; 2: failed, and the user can fix it; 130: interrupted. `next` also has 3: nothing is left to
measure, and 4: the time is up. BENCH_DEBUG=1 prints each command that is run.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module

from driver.docker import ENGINE_GONE, DockerError, answers
from driver.engines.engine import is_composed
from driver.failure import (
    INTERRUPTED,
    NOTE,
    RUN,
    SCRIPT,
    USER,
    Failure,
    Interrupted,
    go_on_with_line,
    heed_signals,
    warn,
)
from driver.messages import MessageError

VERBS = {
    "matrix": "driver.planning.matrix",
    "compare": "driver.planning.refs",
    "bisect": "driver.planning.bisect",
    "contract": "driver.planning.tools:plan_contract",
    "tools": "driver.planning.tools:exec_tools",
    "harness": "driver.services.harness",
    "hold": "driver.lifecycle.hold",
    "build": "driver.services.build",
    "begin": "driver.lifecycle.begin",
    "verify": "driver.services.verify",
    "next": "driver.steps.next",
    "measure": "driver.steps.wave",
    "profile": "driver.steps.profile",
    "report": "driver.lifecycle.begin:report",
    "stacks": "driver.steps.stacks",
    "sockets": "driver.services.sockets",
    "swarm": "driver.nodes.swarm_verbs",
    "clean": "driver.lifecycle.clean",
}
"""The module of each verb; its function is `main`, unless named, and returns the exit status, or None for 0."""


def main(argv: list[str]) -> int:
    """The exit status of a verb."""
    if not argv or argv[0] not in VERBS:
        print(f"usage: python3 -m driver {'|'.join(VERBS)} RUN [OPTION...]", file=sys.stderr)
        return USER
    heed_signals()
    # The folder in which the user called the script.
    os.chdir(os.environ.pop("BENCH_FROM", "."))
    if argv[0] == "measure":
        go_on_with_line()
    try:
        module, _, function = VERBS[argv[0]].partition(":")
        return int(getattr(import_module(module), function or "main")(argv[1:]) or 0)
    except Interrupted:
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("BENCH_DEBUG"):
            traceback.print_exc()
        status, words = _told(error)
    # The note says how to resume, which does not help against a user's mistake.
    note = os.environ.get(NOTE) if status != USER else ""
    warn(f"{os.environ.get(SCRIPT) or argv[0]}: {words}" + (f"; {note}" if note else ""))
    return status


def _told(error: Exception) -> tuple[int, str]:
    """The exit status, and one line for the user."""
    if isinstance(error, Failure):
        return error.status, error.words
    if isinstance(error, MessageError):
        return USER, str(error)
    if isinstance(error, DockerError):
        return RUN, str(error) if is_composed() or answers() else ENGINE_GONE
    # An operating system error, such as a full disk, or a bug.
    places = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-3:]]
    return RUN, f"{error or repr(error)} at {' < '.join(reversed(places))}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

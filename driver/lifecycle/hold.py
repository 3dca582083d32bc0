"""Holds a run: takes its lock, starts the script that measures it, waits, and removes containers and networks.

However the run ends, none of its containers and networks stay on the machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from driver.compose import need_compose
from driver.docker import end, engine_environment, kinds, spawn
from driver.engines.engine import is_composed
from driver.failure import INTERRUPTED, NOTE, USER, Interrupted, end_line, go_on_with_line, ignore_signals, warn
from driver.lifecycle.leftovers import remove_left, remove_run
from driver.lifecycle.writer import become_writer, end_writers, need_room
from driver.nodes.node import several
from driver.run import Run, open_run

HELD = "BENCH_HELD"
"""Environment variable that tells the script that its run is held: the run's folder."""
ENDS_S = 2.0
"""Seconds between SIGTERM and SIGKILL to the script."""


def main(argv: list[str]) -> int:
    """`hold RUN [--swarm] [--resume] -- COMMAND...`: the command's exit status, or 130 after a signal."""
    parser = ArgumentParser(prog="hold")
    parser.add_argument("run")
    parser.add_argument("--swarm", action="store_true")
    parser.add_argument("--resume", action="store_true")
    place = argv.index("--")
    options, command = parser.parse_args(argv[:place]), argv[place + 1 :]
    run = open_run(options.run)
    need_room(run, USER)
    kept = f"what is measured is kept in results/{run.name}"
    if is_composed():
        become_writer(run, f"@{os.uname().nodename}")
        return hold(run, command, kept)
    become_writer(run)
    plan = run.folder / "plan.jsonl"
    planned = plan.exists() and plan.stat().st_size
    note = f"{kept}; scripts/matrix.sh --resume {run.name} continues it" if planned else ""
    return hold(run, command, note, partial(_begin, run, options.swarm, options.resume))


def hold(run: Run, command: Sequence[str], note: str, begin: Callable[[], None] | None = None) -> int:
    """Runs the command; its exit status. `note`: how to resume if it fails.

    `begin` is called first. Without it, the run has no containers of its own, and none are removed.
    """

    def clean() -> None:
        end_writers(run)
        if begin:
            remove_run(run)
            # The engine may meanwhile have created something for a killed client.
            remove_left(run)

    guard = Guard(clean)
    status, interrupted = INTERRUPTED, False
    child: subprocess.Popen[bytes] | None = None
    try:
        if begin:
            begin()
        # The script never reads the terminal.
        child = spawn(command, stdin=subprocess.DEVNULL, env=_environment(run, note))
        status = child.wait()
    except Interrupted:
        interrupted = True
    finally:
        ignore_signals()
        if child:
            end(child, ENDS_S)
        end_writers(run, but=[guard.pid])
        if interrupted:
            go_on_with_line()
            end_line()
            warn("; ".join(filter(None, ["interrupted", note])))
        if begin:
            remove_run(run)
            if interrupted:
                # A killed client may have left a container of the tools.
                remove_left(run)
        guard.dismiss()
    return status if status >= 0 else 128 - status


def _begin(run: Run, swarm: bool, resume: bool) -> None:
    """Chooses the machines and writes the resolved Compose file; on resume, removes leftovers of a killed call."""
    kinds()
    machines = several(run)
    if machines == "contexts":
        from driver.nodes.contexts import need_machines

        need_machines(run, resume)
    elif machines or swarm:
        from driver.nodes.setup import choose_nodes

        choose_nodes(run)
    else:
        need_compose(run)
    if resume:
        remove_left(run)


def _environment(run: Run, note: str) -> dict[str, str]:
    """The environment of the script and of all that it starts."""
    known = {} if is_composed() else engine_environment()
    # BENCH_PYTHON is the interpreter itself: a wrapper, such as pyenv's, would make each start slower.
    held = {HELD: str(run.folder), "BENCH_PROJECT": run.project, NOTE: note, "BENCH_PYTHON": sys.executable}
    return {**os.environ, **run.settings, **known, **held}


class Guard:
    """A process in its own session that cleans up if the holder is killed.

    It reads a pipe whose writing end only the holder has. If the pipe closes without a message, the holder was killed:
    the guard then cleans up, and keeps the run's lock until that is done.
    """

    def __init__(self, clean: Callable[[], None]) -> None:
        """Forks; this process must not have threads yet."""
        reader, self._writer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._writer)
            _stand(reader, clean)
        os.close(reader)

    def dismiss(self) -> None:
        """Ends the guard without a clean-up, because the holder has done that itself."""
        with suppress(OSError):
            os.write(self._writer, b"ended")
        os.close(self._writer)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _stand(reader: int, clean: Callable[[], None]) -> None:
    """The guard process; never returns, because the fork must not continue as its parent."""
    try:
        os.setsid()
        ignore_signals()
        silent = os.open(os.devnull, os.O_WRONLY)
        for place, file in ((0, reader), (1, silent), (2, silent)):
            os.dup2(file, place)
        if not os.read(0, 16):
            clean()
    finally:
        os._exit(0)

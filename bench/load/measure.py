"""What is done for one load, from the load generator's side: the verbs of `loadgen/measure`."""

from __future__ import annotations

from dataclasses import replace

from bench.load.task import Say, Task, pinned
from bench.tools.load import Command

# Each verb imports what it needs: none of them may keep a measurement waiting.


def command(task: Task) -> Command:
    """The load tool's command line; of a search for a knee, that of its first trial."""
    if task.entry.knee_p99_s is not None:
        from bench.load.knee import first_trial

        task = first_trial(task)
    return task.command()


def ready(task: Task, say: Say, timeout_s: str | None = None) -> None:
    """Ask the service until its first good answer; say its time and how long it took."""
    from bench.load.ready import wait_until_ready

    wait_until_ready(task, say, timeout_s)


def prepare(task: Task, say: Say) -> None:
    """Ask until the first good answer, and warm up; search for the knee of a level that asks for one."""
    from bench.load.ready import wait_until_ready, warm_up

    searched = task.entry.knee_p99_s is not None
    if not searched:
        # What the tool cannot do is reported before the service is waited for.
        task.command()
    wait_until_ready(task, say)
    if task.entry.warmup_s:
        warm_up(task, say)
    if searched:
        from bench.load.knee import search_knee

        search_knee(task)


def run(task: Task) -> None:
    """Run the load tool and save its output."""
    from bench.load.save import run_and_save

    task = replace(task, load=pinned(task.load))
    if task.entry.knee_p99_s is not None:
        from bench.load.knee import at_knee

        task = at_knee(task)
    run_and_save(task)

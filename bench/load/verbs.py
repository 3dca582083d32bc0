"""The verbs of `loadgen/measure` for one load."""

from __future__ import annotations

from dataclasses import replace

from bench.load.task import Say, Step, Task, pinned
from bench.tools.tool import Command

# What only some loads need is imported where they are made: this runs between measurements.


def prepare_alone(step: Step, say: Say) -> None:
    """Wait for the first good answer of its one service, warm it up, and search for its knee; say so, too."""
    task = step.task()
    with step.noted(task.entry.service) as keep:

        def both(line: str) -> None:
            say(line)
            keep(line)

        prepare(task, both)


def run_alone(step: Step) -> None:
    """Load its one service, and save all that the load leaves."""
    task = step.task()
    with step.noted(task.entry.service):
        run(task)


def command(task: Task) -> Command:
    """The load tool's command line; for a search for a knee, the first trial's."""
    if task.entry.knee_p99_s is not None:
        from bench.load.knee import first_trial

        task = first_trial(task)
    return task.command()


def ready(task: Task, say: Say, timeout_s: str | None = None) -> None:
    """Poll until the first good answer."""
    from bench.load.answers import wait_until_ready

    wait_until_ready(task, say, timeout_s)


def prepare(task: Task, say: Say) -> None:
    """Poll until the first good answer, warm up, and search for the knee if the level asks for it."""
    from bench.load.answers import wait_until_ready, warm_up

    searched = task.entry.knee_p99_s is not None
    if not searched:
        # Report what the tool cannot do before waiting for the service.
        task.command()
    wait_until_ready(task, say)
    warmed = warm_up(task, say) if task.entry.warmup_s else None
    if searched:
        from bench.load.knee import search_knee

        search_knee(task, warmed)


def run(task: Task) -> None:
    """Run the load tool and save its output."""
    from bench.load.save import run_and_save

    task = replace(task, load=pinned(task.load))
    if task.entry.knee_p99_s is not None:
        from bench.load.knee import at_knee

        task = at_knee(task)
    run_and_save(task)

"""The verbs of `loadgen/measure` for one load."""

from __future__ import annotations

from dataclasses import replace

from bench.load.task import Say, Step, Task, pinned
from bench.tools.tool import Command

# Modules that only some loads need are imported locally, because start-up time counts between measurements.


def prepare_alone(step: Step, say: Say) -> None:
    """`prepare` for a step with one service; output also goes to `say`."""
    task = step.task()
    with step.noted(task.planned.service) as keep:

        def both(line: str) -> None:
            say(line)
            keep(line)

        prepare(task, both)


def run_alone(step: Step) -> None:
    """`run` for a step with one service: run the load tool and save its output."""
    from bench.load.save import run_and_save

    task = step.task()
    with step.noted(task.planned.service):
        task = replace(task, load=pinned(task.load))
        if task.planned.knee_p99_s is not None:
            from bench.load.knee import at_knee

            task = at_knee(task)
        run_and_save(task)


def command(task: Task) -> Command:
    """The load tool's command line; in a search for a knee, that of the first trial."""
    if task.planned.knee_p99_s is not None:
        from bench.load.knee import first_trial

        task = first_trial(task)
    return task.command()


def prepare(task: Task, say: Say) -> None:
    """Poll until the first good response, warm up, and search for the knee if the level requires it."""
    from bench.load.answers import wait_until_ready, warm_up

    searched = task.planned.knee_p99_s is not None
    if not searched:
        # Report a load that the tool cannot generate before waiting for the service.
        task.command()
    wait_until_ready(task, say)
    warmed = warm_up(task, say) if task.planned.warmup_s else None
    if searched:
        from bench.load.knee import search_knee

        search_knee(task, warmed)

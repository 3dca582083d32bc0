"""Profiles services (--profile): after the tables, each is loaded once more, alone, while its stacks are sampled.

These loads are not ranked. A service that cannot be sampled gets a warning.
"""

from __future__ import annotations

from driver.engines.engine import Engine
from driver.engines.of_run import engine_of
from driver.failure import RUN, Failure, say, warn
from driver.files import last_line, text_of
from driver.messages import Finished
from driver.steps.measure import measure_step, read_step
from driver.steps.next import elapsed_s, run_and_limit, words_of
from driver.steps.sampler import sampled

LONGEST = 300
"""Characters of a warning."""
STEP, NONE_LEFT = 0, 3
"""Exit statuses of `bench profile-next`."""


def main(argv: list[str]) -> None:
    """`profile RUN [--max-time SECONDS]`: samples all missing windows; the time counts from the script's start."""
    run, max_time_s = run_and_limit("profile", argv)
    if run.setting("PROFILE_TABLES"):
        profile_tables(engine_of(run), float(max_time_s) if max_time_s else None)


def profile_tables(engine: Engine, max_time_s: float | None) -> None:
    """Samples all windows that are not yet sampled."""
    name, begin = engine.run.name, ["--begin"]
    while True:
        if max_time_s and elapsed_s() >= int(max_time_s):
            warn(f"the time is up (--max-time): not all services are profiled; resume with --resume {name}")
            return
        done = engine.bench("profile-next", name, *begin)
        begin = []
        if done.status not in (STEP, NONE_LEFT):
            raise Failure(RUN, f"the next profile cannot be decided: {done.last_line}")
        if words_of(done):
            say(words_of(done))
        if done.status == NONE_LEFT:
            return
        _say_unsampled(engine, measure_step(engine, sampled))


def _say_unsampled(engine: Engine, seen: Finished) -> None:
    """Warns if the service of this step was not sampled, with the reason."""
    step = read_step(engine.run)
    folder = engine.run.folder / step.folders[0]
    failed = any(seen.statuses.values())
    if text_of(folder / "stacks.txt") and not failed:
        return
    logs = [engine.run.folder / step.dir / name for name in ("run.txt", "prepare.txt")]
    said = map(last_line, logs if failed else [folder / "sampler.txt"])
    words = next(filter(None, said), "its load failed")
    shown = "".join(mark for mark in words if mark.isprintable())[:LONGEST]
    warn(f"{step.services[0]} is not sampled: {shown}")

"""Writes the file of a step, RUN/step.json: a part for the driver, and one for the load generator."""

from __future__ import annotations

import glob
import json
import shutil
from pathlib import Path

from bench.core.files import write_file
from bench.load.task import FILE, SCHEMA
from bench.run.folder import read_addresses
from bench.schedule.steps import Step
from driver.messages import Step as HostStep
from driver.messages import as_json


def write_step(run: Path, step: Step, at: Path | None = None, ceiling: float | None = None) -> None:
    """Write a step to RUN or to its lane's folder `at`; knees are searched up to `ceiling` requests/s."""
    _remove_earlier(run, step)
    content = {"schema": SCHEMA, "host": as_json(host_step(step)), "addresses": read_addresses(run)}
    content |= {"knee_ceiling": ceiling, "planned": [line.as_dict() for line in step.lines]}
    write_file((at or run) / FILE, json.dumps(content) + "\n")


def _remove_earlier(run: Path, step: Step) -> None:
    """Remove the files of an earlier try, which must not be taken for this one's."""
    for line in step.lines:
        shutil.rmtree(run / line.dir, ignore_errors=True)
    for name in step.containers:
        for file in (run / step.dir / "services").glob(f"{glob.escape(name)}.*"):
            file.unlink()


def host_step(step: Step) -> HostStep:
    """The driver's part of a step; it reads the events from the step's lines."""
    return HostStep(
        id=step.id,
        dir=step.dir,
        services=step.containers,
        copies={line.container: line.service for line in step.lines if line.container != line.service},
        folders=tuple(line.dir for line in step.lines),
        held=step.held,
        host_network=step.first.host_network,
    )

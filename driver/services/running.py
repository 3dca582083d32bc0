"""Saves what actually runs in a service: its processes, the variables they have, and limits of the container."""

from __future__ import annotations

import shlex

from driver.docker import DockerError
from driver.engines.engine import Engine
from driver.files import save
from driver.run import ROOT

PROGRAM = ROOT / "services/running.py"
MOST_BYTES = 1 << 20


def save_running(engine: Engine, service: str) -> None:
    """Saves running.json of a service with settings, which bench/run/process.py compares with those of others."""
    names = [setting.partition("=")[0] for setting in shlex.split(engine.run.services[service].settings)]
    if not names:
        return
    try:
        done = engine.in_service(service, ("python3", "-I", "-S", "-c", PROGRAM.read_text(), *names))
    except DockerError:
        return
    if not done.status and len(done.out) <= MOST_BYTES:
        save(engine.run.service_folder(service) / "running.json", done.out)

"""Builds the images of a run's services; a resumed run keeps those that it began with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from driver.docker import docker, end, spawn
from driver.engines.engine import Engine
from driver.engines.of_run import engine_of
from driver.failure import RUN, USER, Failure, say
from driver.files import save, text_of
from driver.parallel import together
from driver.run import Run, open_run
from driver.services.own_app import build_own_services
from driver.services.ready import leave_out
from driver.services.verify import check_targets

AT_ONCE = 16
"""Images per build; BuildKit has failed with more."""
LONGEST_S = 86400
BASES = """set -Eeuo pipefail
source "$1/scripts/lib/bases.sh"
trap_errors
find_docker
missing_bases "${@:2}"
"""


def main(argv: list[str]) -> int:
    """`build RUN`: checks that targets answer, and builds everything else; leaves out what fails."""
    run = open_run(argv[0])
    engine = engine_of(run)
    ask_again(engine)
    check_targets(engine)
    build_services(engine)
    build_own_services(run)
    return 0


def ask_again(engine: Engine) -> None:
    """In a resumed run, retries services that failed for a reason that may have passed."""
    if any(engine.run.failed(service) for service in engine.run.services):
        words = engine.told("retry", engine.run.name).strip()
        if words:
            say(words)


def build_services(engine: Engine) -> None:
    """Builds base images, then services. Services that differ only in settings share an image."""
    run = engine.run
    bases = {run.services[service].base for service in run.host.containers}
    lacks = missing_bases(run.root, bases) if bases else set()
    wanted, there = [], set()
    for service in run.host.containers:
        facts = run.services[service]
        if facts.base in lacks:
            leave_out(engine, service, "base", facts.base)
            continue
        wanted.append(facts.build)
        if _restored(run, service):
            there.add(facts.build)
    wanted = [build for build in dict.fromkeys(wanted) if build not in there]
    if wanted:
        say(f"building {len(wanted)} services")
    for begin in range(0, len(wanted), AT_ONCE):
        _build_batch(engine, wanted[begin : begin + AT_ONCE])


def missing_bases(root: Path, names: Iterable[str]) -> set[str]:
    """Pulls or builds these base images, with the bash code of setup.sh; returns those that failed."""
    words = ["bash", "-c", BASES, "build", str(root), *sorted(names)]
    process = spawn(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        out, _ = process.communicate()
    finally:
        end(process)
    if process.returncode:
        raise Failure(USER if process.returncode == USER else RUN, "no base images; the lines above say why")
    return set(out.decode().split())


def _restored(run: Run, service: str) -> bool:
    """Tags the image that the run began with, if it still exists: a rebuilt one may have another id."""
    image = (text_of(run.service_folder(service) / "image.id") or "").strip()
    return bool(image) and docker("tag", image, run.services[service].image, check=False).status == 0


def _build_batch(engine: Engine, builds: Sequence[str]) -> None:
    """Builds all at once, or each by itself if that fails."""
    log = engine.run.folder / "build.log"
    before = text_of(log) or ""
    failed = _build(engine.run, builds, log)
    save(log, before + (text_of(log) or ""))
    if failed:
        together(partial(_build_alone, engine), builds, len(os.sched_getaffinity(0)))


def _build_alone(engine: Engine, build: str) -> None:
    """Builds one image; if that fails, leaves out all services that use it."""
    run = engine.run
    log = run.service_folder(build) / "build.log"
    if not _build(run, [build], log):
        return
    for service in run.host.containers:
        if run.services[service].build == build:
            if service != build:
                save(run.service_folder(service) / "build.log", text_of(log) or "")
            leave_out(engine, service, "build")


def _build(run: Run, builds: Sequence[str], log: Path) -> bool:
    """Builds; whether it failed.

    All runs build under the same project name: Compose writes it into the images, so that ids would differ otherwise.
    """
    words = ("compose", "--project-name", "bench", "--file", str(run.folder / "compose.yml"))
    done = docker(*words, "build", "--progress", "plain", *builds, check=False, timeout=LONGEST_S, log=log)
    return done.status != 0

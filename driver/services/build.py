"""Builds the images of a run's services; a resumed run keeps those that it began with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from driver.docker import LONGEST_S, docker, end, spawn
from driver.engines.engine import Engine
from driver.engines.of_run import engine_of
from driver.failure import RUN, USER, Failure, say
from driver.files import save, text_of
from driver.parallel import together
from driver.run import Run, open_run
from driver.services.own_app import build_own_services, is_recorded, try_own_app
from driver.services.ready import leave_out
from driver.services.verify import check_targets

AT_ONCE = 16
"""Images per build; BuildKit has failed with more."""
BASES = """set -Eeuo pipefail
source "$1/scripts/lib/bases.sh"
trap_errors
find_docker
missing_bases "${@:2}"
"""


def main(argv: list[str]) -> None:
    """`build RUN`: checks that targets answer, and builds everything else; leaves out what fails.

    A user's own app is tried in the first image, so that what it lacks shows before the others are built.
    """
    run = open_run(argv[0])
    engine = engine_of(run)
    ask_again(engine)
    check_targets(engine)
    build_own_services(run)
    images = images_to_build(engine)
    if run.own_app and not is_recorded(run):
        if images and not _build_alone(engine, images.pop(0)):
            build_images(engine, images)
            images = []
        engine.start_dependencies()
        try_own_app(engine)
    build_images(engine, images)


def ask_again(engine: Engine) -> None:
    """In a resumed run, retries services that failed for a reason that may have passed."""
    failed = any(engine.run.failed(service) for service in engine.run.services)
    if failed and (words := engine.told("retry", engine.run.name).strip()):
        say(words)


def images_to_build(engine: Engine) -> list[str]:
    """The images that are not there, once their base images are. Services that differ only in settings share one."""
    run = engine.run
    bases = {run.services[service].base_image for service in run.containers}
    lacks = missing_bases(run.root, bases) if bases else set()
    wanted, there = [], set()
    for service in run.containers:
        facts = run.services[service]
        if run.failed(service):
            continue
        if facts.base_image in lacks:
            leave_out(engine, service, "base", facts.base_image)
            continue
        wanted.append(facts.build)
        # The image that the run began with is tagged again, if it still exists: a rebuilt one may have another id.
        image = (text_of(run.service_folder(service) / "image.id") or "").strip()
        if image and not docker("tag", image, facts.image, check=False).status:
            there.add(facts.build)
    images = [build for build in dict.fromkeys(wanted) if build not in there]
    if images:
        say(f"building {len(images)} services")
    return images


def build_images(engine: Engine, images: Sequence[str]) -> None:
    """Builds as many at once as is safe."""
    for begin in range(0, len(images), AT_ONCE):
        _build_batch(engine, images[begin : begin + AT_ONCE])


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


def _build_batch(engine: Engine, builds: Sequence[str]) -> None:
    """Builds all at once, or each by itself if that fails."""
    log = engine.run.folder / "build.log"
    before = text_of(log) or ""
    failed = _build(engine.run, builds, log)
    save(log, before + (text_of(log) or ""))
    if failed:
        together(partial(_build_alone, engine), builds, len(os.sched_getaffinity(0)))


def _build_alone(engine: Engine, build: str) -> bool:
    """Builds one image; if that fails, leaves out all services that use it. Whether it was built."""
    run = engine.run
    log = run.service_folder(build) / "build.log"
    if not _build(run, [build], log):
        return True
    for service in run.containers:
        if run.services[service].build == build:
            if service != build:
                save(run.service_folder(service) / "build.log", text_of(log) or "")
            leave_out(engine, service, "build")
    return False


def _build(run: Run, builds: Sequence[str], log: Path) -> bool:
    """Builds; whether it failed.

    All runs build under the same project name: Compose writes it into the images, so that ids would differ otherwise.
    """
    words = ("compose", "--project-name", "bench", "--file", str(run.folder / "compose.yml"))
    done = docker(*words, "build", "--progress", "plain", *builds, check=False, timeout=LONGEST_S, log=log)
    return done.status != 0

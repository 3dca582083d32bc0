"""Prepares a user's own app: its Compose services, a test import, and its command before the load."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from driver.compose import run_compose
from driver.docker import DockerError, docker
from driver.engines.engine import Engine
from driver.failure import USER, Failure, say
from driver.files import last_line
from driver.messages import OwnApp
from driver.run import Run
from driver.services.ready import await_answer, leave_out, patience, save_end, save_log, started

BEFORE = "cd /srv/app && PYTHONPATH=/srv/app:/srv/app/src:$PYTHONPATH && export PYTHONPATH && "
SERVERS = 3
"""At most this many services are tried to record the answers."""


def build_own_services(run: Run) -> None:
    """Builds the user's Compose services that have a build section."""
    if run.own_services:
        words = ("build", "--progress", "plain", *run.own_services)
        done = run_compose(run, *words, check=False, timeout=86400, log=run.folder / "build-own.log")
        if done.status:
            raise Failure(USER, f"--compose: {done.last_line}")


def ready_own_app(engine: Engine) -> None:
    """Prepares the app, after images are built and dependencies are up; a resumed run already has its answers."""
    run, app = engine.run, engine.run.host.own_app
    if not app:
        return
    if (run.folder / "app/answers.json").exists():
        renew_own_services(engine)
        return
    built = _built(run)
    if not built:
        why = json.loads((run.service_folder(run.host.containers[0]) / "failure.json").read_text())["detail"]
        raise Failure(USER, f"no server could be built with {app.app}: {why}")
    await_own_services(run)
    import_own_app(engine, app, built[0])
    if app.before:
        say(f"before the load: {app.before}")
        run_before(engine, app, built[0])
    record_answers(engine, app, built)


def renew_own_services(engine: Engine) -> None:
    """Replaces the user's services and their volumes by new ones, and runs --before again: what they held is gone."""
    run, app, built = engine.run, engine.run.host.own_app, _built(engine.run)
    if app and built and run.own_services:
        docker("rm", "--force", "--volumes", *map(run.container, run.own_services), check=False)
        volumes = docker("volume", "ls", "--quiet", "--filter", f"label={run.label}").out.split()
        if volumes:
            docker("volume", "rm", *volumes)
        await_own_services(run)
        if app.before:
            run_before(engine, app, built[0])


def _built(run: Run) -> list[str]:
    return [service for service in run.host.containers if not run.failed(service)]


def await_own_services(run: Run) -> None:
    """Starts the user's Compose services and waits up to two minutes until they are healthy (or running)."""
    if not run.own_services:
        return
    words = ("up", "--detach", "--no-build", "--no-recreate", "--wait", "--wait-timeout", "120", *run.own_services)
    done = run_compose(run, *words, check=False, log=run.folder / "start-own.log")
    if done.status:
        logs = run_compose(run, "logs", "--no-color", "--tail", "3", *run.own_services, check=False)
        last = " ".join((logs.out + logs.err)[-600:].split())
        ended = " exited (0)" in done.last_line
        hint = "; a service that ends is not supported: give its command with --before" if ended else ""
        raise Failure(USER, f"--compose: {done.last_line}; last log line: {last}{hint}")


def import_own_app(engine: Engine, app: OwnApp, service: str) -> None:
    """Imports the app in a container like the service's; Failure with its traceback if that fails."""
    run, log, what = engine.run, engine.run.folder / "app/import.txt", f"{app.app} does not import"
    words = ["python3", "-c", "import app"]
    if _in_own_image(run, service, words, what=what, limit=("IMPORT_TIMEOUT", "30"), log=log):
        refuse(engine, what, log)


def run_before(engine: Engine, app: OwnApp, service: str) -> None:
    """Runs the user's command (--before) in a container like the service's."""
    run, log = engine.run, engine.run.folder / "app/before.txt"
    words = ["sh", "-c", BEFORE + app.before]
    status = _in_own_image(run, service, words, what="--before", limit=("BEFORE_TIMEOUT", "300"), log=log)
    if status:
        refuse(engine, f"--before: status {status}", log)


def _in_own_image(run: Run, service: str, words: Sequence[str], *, what: str, limit: tuple[str, str], log: Path) -> int:
    """Runs a command in a container like the service's; its exit status. The log keeps the end of its output.

    `limit`: the setting with the most seconds that it may take, and its default.
    """
    name = f"{run.project}-once"
    seconds = run.setting(*limit)
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]+)?", seconds):
        raise Failure(USER, f"{limit[0]}='{seconds}' is not a number of seconds; fix it in the environment")
    options = ("run", "--rm", "--no-deps", "--no-TTY", "--name", name, "--entrypoint", "", service)
    try:
        return run_compose(run, *options, *words, check=False, timeout=float(seconds), log=log, end_alone=True).status
    except DockerError as error:
        last = last_line(log)[:300]
        said = f"; last log line: {last}" if last else ""
        late = f"not done after {seconds} s ({limit[0]} in the environment changes that)"
        raise Failure(USER, f"{what}: {late}{said}") from error
    finally:
        docker("rm", "--force", "--volumes", name, check=False)


def record_answers(engine: Engine, app: OwnApp, services: Sequence[str]) -> None:
    """Records the answers of the first service that gives any; Failure if they are unfit as a reference."""
    run, asked = engine.run, services[:SERVERS]
    for service in asked:
        if started(engine, service) and await_answer(engine, service):
            words = ["python3", "-m", "bench", "own-answers", "record", run.name, service]
            done = engine.in_loadgen(words, log=run.folder / "app/record.txt")
            save_log(engine, service)
            engine.stop([service])
            if done.status:
                refuse(engine, done.last_line, run.service_folder(service) / "server.log")
            say(f"right answers recorded on {service}")
            return
        save_log(engine, service)
        leave_out(engine, service, "answer", patience(run.settings))
        engine.stop([service])
    none = f"{app.app} does not answer on any of {' '.join(asked)}"
    refuse(engine, none, run.service_folder(asked[0]) / "server.log")


def refuse(engine: Engine, words: str, log: Path) -> NoReturn:
    """Raises Failure; prints the app's own traceback first, if the log has one."""
    place = f"results/{engine.run.name}/{log.relative_to(engine.run.folder)}"
    trace, _, last = engine.bench("own-trace", place).out.rstrip("\n").rpartition("\n")
    if trace:
        print(trace, file=sys.stderr)
    raise Failure(USER, words + (f": {last}" if last else ""))


def check_own_answers(engine: Engine, service: str) -> None:
    """Verifies a service of an own app: its answers must equal the recorded ones. This replaces the contract."""
    words = ["python3", "-m", "bench", "own-answers", "check", engine.run.name, service]
    done = engine.in_loadgen(words, log=engine.run.service_folder(service) / "verify.txt")
    if done.status == 0:
        say(f"{service}: answers as recorded")
    else:
        save_end(engine, service)
        leave_out(engine, service, "verification")

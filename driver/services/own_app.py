"""Prepares a user's own app: its Compose services, a test import, and its command before the load."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from driver.compose import TOOLS, run_compose
from driver.docker import CONFINED, LONGEST_S, DockerError, docker, or_failure, pipe
from driver.engines.engine import Engine
from driver.failure import RUN, USER, Failure, say
from driver.files import below, last_line, text_of
from driver.messages import CHANGES, OwnApp
from driver.run import Run
from driver.services.ready import await_answer, leave_out, patience, save_end, save_log, seconds, started

BEFORE = "cd /srv/app && PYTHONPATH=/srv/app:/srv/app/src && export PYTHONPATH && "
FILL = "/app/fill-folder"
"""Fills the app's folder and runs a command; the entrypoint of its images."""
LARGE = "the app's folder has more than "
"""How `FILL` begins to say that the folder is too large to be copied."""
KEEPER = (*CONFINED, "--network", "none", "--memory", "256m", "--ulimit", "nofile=1024", "--user", "0:0")
KEEP = "head --bytes=300M >/to/changes.tar"
"""Saves an archive, and no more than a folder in memory can have."""
LEFT_S = 60
"""Seconds after which a container ends by itself, if nobody is left to remove it."""
IMPORT_TIMEOUT = ("IMPORT_TIMEOUT", "30")
"""The setting with the most seconds that an import may take, and its default."""
MISSING = re.compile(r"No such file or directory|not found|doesn't exist|does not exist|No module named")
NAMES = (r"'([^']{1,200})'", r"(?<![\w.-])([\w.-]{0,99}/[\w./-]{1,200})", r": ([\w.-]{1,200})")
"""Where the line of a log has a file's name: in quotes, with a slash, after a colon."""
LAST = 8_000
"""How many characters at the end of a log are searched for them."""
SERVERS = 3
"""At most this many services are tried to record the answers."""


def build_own_services(run: Run) -> None:
    """Builds the user's Compose services that have a build section."""
    if run.own_services:
        words = ("build", "--progress", "plain", *run.own_services)
        done = run_compose(run, *words, check=False, timeout=LONGEST_S, log=run.folder / "build-own.log")
        if done.status:
            raise Failure(USER, f"--compose: {done.last_line}")


def is_recorded(run: Run) -> bool:
    """Whether the app's answers are recorded, as in a resumed run."""
    return (run.folder / "app/answers.json").exists()


def try_own_app(engine: Engine) -> None:
    """Imports the app and runs --before, in the first image and once dependencies are up."""
    run, app, built = engine.run, engine.run.own_app, _built(engine.run)
    if not app:
        return
    if not built:
        why = json.loads((run.service_folder(run.containers[0]) / "failure.json").read_text())["detail"]
        raise Failure(USER, f"no server could be built with {app.app}: {why}")
    await_own_services(run)
    import_own_app(engine, app, built[0])
    if app.before:
        say(f"before the load: {app.before}")
        run_before(engine, app, built[0])


def ready_own_app(engine: Engine) -> None:
    """Records the app's answers, once it was tried and all images are built."""
    if engine.run.own_app:
        if is_recorded(engine.run):
            renew_own_services(engine)
        else:
            record_answers(engine, engine.run.own_app, _built(engine.run))


def renew_own_services(engine: Engine) -> None:
    """Replaces the user's services and their volumes by new ones, and runs --before again: what they held is gone."""
    run, app, built = engine.run, engine.run.own_app, _built(engine.run)
    if app and built and (run.own_services or app.before):
        if run.own_services:
            docker("rm", "--force", "--volumes", *map(run.container, run.own_services), check=False)
        if volumes := docker("volume", "ls", "--quiet", "--filter", f"label={run.label}").out.split():
            docker("volume", "rm", *volumes)
        await_own_services(run)
        if app.before:
            run_before(engine, app, built[0])


def _built(run: Run) -> list[str]:
    return [service for service in run.containers if not run.failed(service)]


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
        if "ead-only file system" in last:
            hint = "; it cannot write to a folder of yours: give it a named volume"
        raise Failure(USER, f"--compose: {done.last_line}; last log line: {last}{hint}")


def import_own_app(engine: Engine, app: OwnApp, service: str) -> None:
    """Imports the app in a container like the service's; Failure with its traceback if that fails."""
    run, log, what = engine.run, engine.run.folder / "app/import.txt", f"{app.app} does not import"
    if in_own_image(run, service, ["python3", "-c", "import app"], what=what, limit=IMPORT_TIMEOUT, log=log):
        refuse(engine, what, log)
    for line in [line for line in (text_of(log) or "").splitlines() if line.startswith(LARGE)][:1]:
        say(line[:200])


def run_before(engine: Engine, app: OwnApp, service: str) -> None:
    """Runs the user's command (--before) in a container like the service's, and keeps what it changes in the folder."""
    run, log = engine.run, engine.run.folder / "app/before.txt"
    words = ["sh", "-c", BEFORE + app.before]
    limit = ("BEFORE_TIMEOUT", "300")
    if status := in_own_image(run, service, words, what="--before", limit=limit, log=log, then=keep_changes):
        refuse(engine, f"--before: status {status}", log)


def in_own_image(
    run: Run,
    service: str,
    words: Sequence[str],
    *,
    what: str,
    limit: tuple[str, str],
    log: Path,
    then: Callable[[Run, str], None] = lambda *_: None,
) -> int:
    """Runs a command in a container like the service's; its exit status. The log keeps the end of its output.

    `limit`: the setting with the most seconds that it may take, and its default. `then`: called with the container if
    the command succeeds.
    """
    name = f"{run.project}-once"
    longest = seconds(run.settings, *limit)
    idle = ("--entrypoint", "sleep", service, f"{float(longest) + LEFT_S:g}")
    try:
        with or_failure(RUN, f"{what}: its container does not start"):
            run_compose(run, "run", "--detach", "--rm", "--no-deps", "--name", name, *idle)
        done = docker("exec", name, FILL, *words, check=False, timeout=float(longest), log=log, end_alone=True)
    except DockerError as error:
        last = last_line(log)[:300]
        said = f"; last log line: {last}" if last else ""
        late = f"not done after {longest} s ({limit[0]} in the environment changes that)"
        raise Failure(USER, f"{what}: {late}{said}") from error
    else:
        if not done.status:
            then(run, name)
        return done.status
    finally:
        docker("rm", "--force", "--volumes", name, check=False)


def keep_changes(run: Run, container: str) -> None:
    """Saves what has changed in the folder of the app's container where services get it from."""
    options = ("--rm", "--interactive", "--label", f"bench.run={run.project}", *KEEPER)
    volume = ("--volume", f"{run.project}_{CHANGES}:/to:nocopy")
    with or_failure(USER, "--before: what it changed in the app's folder cannot be kept"):
        pipe(("exec", container, "/app/changes"), ("run", *options, *volume, TOOLS, "sh", "-c", KEEP))


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
                refuse(engine, done.last_line, run.service_folder(service) / "server.log", answered=True)
            say(f"right answers recorded on {service}")
            return
        save_log(engine, service)
        leave_out(engine, service, "answer", patience(run.settings))
        engine.stop([service])
    none = f"{app.app} does not answer on any of {' '.join(asked)}"
    refuse(engine, none, run.service_folder(asked[0]) / "server.log")


def refuse(engine: Engine, words: str, log: Path, *, answered: bool = False) -> NoReturn:
    """Raises Failure; prints the app's own traceback first, if the log has one.

    `answered`: the words are about a response, to which the log's last line need not belong.
    """
    folder, app = f"results/{engine.run.name}", engine.run.own_app
    place = f"{folder}/{log.relative_to(engine.run.folder)}"
    traced, last = print_trace(engine.bench("own-trace", f"{folder}/app", place).out)
    if answered:
        raise Failure(USER, words + (f"; the last exception in its log: {last}" if traced else ""))
    ignored = left_out(app.folder, log) if app else ""
    raise Failure(USER, ": ".join(filter(None, (words, last, ignored))))


def print_trace(output: str) -> tuple[bool, str]:
    """Prints the app's own traceback, if `own-trace` found one; returns whether it did, and its exception, or else the
    last line of the log, with what to give.
    """
    trace, _, last = output.rstrip("\n").rpartition("\n")
    if trace:
        print(trace, file=sys.stderr)
    return bool(trace), last


def left_out(folder: str, log: Path) -> str:
    """Which file of the app's folder the log does not find, if the folder has a .dockerignore; else empty."""
    if not folder or not Path(folder, ".dockerignore").is_file():
        return ""
    for line in filter(MISSING.search, (text_of(log) or "")[-LAST:].splitlines()):
        for word in (word for pattern in NAMES for word in re.findall(pattern, line)):
            name = word.replace("/srv/app/", "").strip("./")
            module = name.replace(".", "/")
            paths = [below(Path(folder), one) for one in (name, module, f"{module}.py")]
            if name and any(path and path.exists() for path in paths):
                return f"{name} is in the app's folder: its .dockerignore may leave it out of the images"
    return ""


def check_own_answers(engine: Engine, service: str) -> None:
    """Verifies a service of an own app: its answers must equal the recorded ones. This replaces the contract."""
    words = ["python3", "-m", "bench", "own-answers", "check", engine.run.name, service]
    if engine.in_loadgen(words, log=engine.run.service_folder(service) / "verify.txt").status == 0:
        say(f"{service}: answers as recorded")
    else:
        save_end(engine, service)
        leave_out(engine, service, "verification")

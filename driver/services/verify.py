"""Verifies each service before any load; one that fails is left out."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from signal import SIGKILL, SIGTERM
from threading import Thread
from time import monotonic_ns, sleep, time_ns

from driver.counters import PROC
from driver.docker import docker
from driver.engines.engine import Engine
from driver.engines.of_run import engine_of
from driver.engines.provenance import ImageError
from driver.failure import RUN, USER, Failure, say, warn
from driver.files import save, save_json, text_of
from driver.parallel import together
from driver.run import Run, open_run
from driver.services.own_app import check_own_answers
from driver.services.ready import await_answer, leave_out, patience, save_end, started
from driver.services.running import save_running
from driver.services.sockets import check_sockets

FOLDER = "echo folder_bytes $(df --block-size=1 --output=used /srv/app | tail -n 1)"
"""What the folder of a user's own app has of its memory."""
TRIES = 3
"""Tries of everything that depends on timing."""
ONLY_LATE = 3
"""The verifier's exit status if all failures were late answers."""
FOUND = ("verify.json", "verify.txt", "stop.json", "failure.json")
"""Files with the result of a verification."""
KILLED = 128 + SIGKILL
FORGET = 'exec curl -sSf --max-time 5 --header "Authorization: Bearer $UPSTREAM_TOKEN" --request PUT "$0"'
LOAD = 'curl --silent --max-time 3 "$0/?duration=500" & exec hey -z 2s -c 8 -q 25 -t 2 "$0/json"'


def main(argv: list[str]) -> int:
    """`verify RUN [--jobs N] [--contract [--quiet]]`: `--contract` only verifies, and prints a table."""
    parser = ArgumentParser(prog="verify")
    parser.add_argument("run")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--contract", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(argv)
    run = open_run(options.run)
    engine = engine_of(run)
    # The start-up time of a user's own app is measured here, so nothing else may run at the same time.
    jobs = options.jobs or (1 if run.own_app else jobs_at_a_time())
    verify_services(engine, jobs, options.contract)
    if not options.contract:
        leave_out_equal_sides(engine)
        forget_modes(engine)
        verify_targets(engine)
        return 0
    done = engine.bench("summary", run.name, *(["--quiet"] if options.quiet else []))
    print(done.out, end="")
    print(done.err, end="", file=sys.stderr)
    return done.status


def jobs_at_a_time() -> int:
    """How many services are verified at the same time: two per core, and one per GiB of free memory."""
    free = re.search(r"^MemAvailable: *(\d+) kB$", text_of(PROC / "meminfo") or "", re.MULTILINE)
    room = int(free.group(1)) >> 20 if free else 1
    return min(2 * len(os.sched_getaffinity(0)), max(room, 1))


def leave_out_equal_sides(engine: Engine) -> None:
    """Leaves out services that differ from an earlier one in settings, but run the same: there is nothing to find."""
    if any(service.settings for service in engine.run.services.values()):
        for line in engine.told("equal-sides", engine.run.name).splitlines():
            warn(line)


def forget_modes(engine: Engine) -> None:
    """Lets the upstream answer everyone again.

    A verifier that was killed, perhaps with the load generator, may have told it not to answer an address, which
    another service may have later.
    """
    if "upstream" in engine.run.dependencies:
        done = engine.in_loadgen(("bash", "-c", FORGET, "http://upstream:8081/mode/ok"))
        if done.status:
            warn(f"the upstream cannot be reset: {done.last_line}")


def verify_services(engine: Engine, jobs: int, contract: bool) -> None:
    """Verifies all services; retries, alone, those that were merely late while others were verified.

    `contract`: nothing is measured afterwards; checks sockets and shutdown too, and skips what only figures need.
    """
    run = engine.run
    crowd = len(run.containers) > 1 and jobs > 1
    asked = [service for service in run.containers if not run.failed(service)]
    together(lambda service: verify_service(engine, service, crowd, contract), asked, jobs)
    _revive_and_ask_again(engine, asked)
    for _ in range(TRIES):
        for service in asked:
            if is_set_aside(run, service):
                verify_service(engine, service, crowd=False, contract=contract)
        revived = _revive_and_ask_again(engine, asked)
        if not revived:
            return
    raise Failure(RUN, f"{' '.join(revived)} ended {TRIES} times while services were verified")


def _revive_and_ask_again(engine: Engine, services: Sequence[str]) -> tuple[str, ...]:
    """Restarts dependencies that have ended, and marks services that failed meanwhile for another verification."""
    revived = engine.revive()
    for service in services if revived else ():
        if engine.run.failed(service):
            set_aside(engine.run, service)
    return revived


def verify_service(engine: Engine, service: str, crowd: bool, contract: bool) -> None:
    """Verifies one service. `crowd`: others are verified at the same time."""
    run, folder = engine.run, engine.run.service_folder(service)
    folder.mkdir(parents=True, exist_ok=True)
    if not contract and not save_provenance(engine, service):
        return
    if (folder / "verify.json").exists():
        return
    if not (container := started(engine, service)):
        leave_out(engine, service, "start")
    elif not await_answer(engine, service):
        # If it answers on its own machine, the network between the machines is to blame.
        if not is_set_aside(run, service) and engine.answers_at_home(service):
            set_aside(run, service)
        else:
            save_end(engine, service)
            leave_out(engine, service, "answer", patience(run.settings))
    else:
        if run.own_app:
            save(folder / "started.txt", f"{container.started_ns or ''} {time_ns()}\n")
        if not contract:
            save_idle(engine, service)
            save(folder / "limits.txt", engine.limits(service))
            save_running(engine, service)
        if run.own_app:
            check_own_answers(engine, service)
        else:
            check_contract(engine, service, crowd)
        if contract and (folder / "verify.json").exists():
            check_sockets(engine, service)
            end_under_load(engine, service, crowd)
    engine.stop([service])


def save_provenance(engine: Engine, service: str) -> bool:
    """Saves what its image is made of; leaves it out, and returns False, if its image does not tell."""
    try:
        engine.save_provenance(service)
    except ImageError as error:
        engine.check(step_failed=True)
        save(engine.run.service_folder(service) / "start.log", f"{error}\n")
        leave_out(engine, service, "start")
        return False
    return True


def save_idle(engine: Engine, service: str) -> None:
    """Saves the counters of an idle service once its memory is stable (after 5 s at most).

    The first worker may answer while others are still loading.
    """
    now = 0.0
    for _ in range(25):
        was, lines = now, engine.state_lines(service)
        known = re.search(r"^memory_bytes (\d+)$", lines, re.MULTILINE)
        now = float(known.group(1)) if known else 0
        if now <= was * 1.01:
            break
        sleep(0.2)
    if engine.run.own_app:
        lines += engine.in_service(service, ("sh", "-c", FOLDER)).out
    save(engine.run.service_folder(service) / "idle.txt", lines)


def check_contract(engine: Engine, service: str, crowd: bool) -> None:
    """Verifies a service. If it fails, the verifier writes failure.json; without that file it was interrupted.

    `crowd`: other services are verified at the same time.
    """
    run, facts = engine.run, engine.run.services[service]
    folder, here = run.service_folder(service), f"raw/services/{service}"
    claim = "--concurrent" if facts.concurrent else "--sequential"
    words = [
        *("python3", "-m", "bench", "verify", "--service", service, "--base-url", f"http://{service}:8080", claim),
        *("--routes", ",".join(facts.routes), "--framework", facts.framework, "--database-host", "postgres"),
        *("--database-password-file", "/run/secrets/database_password"),
        *("--upstream-control", "http://upstream:8081", "--json", f"results/{run.name}/{here}/verify.json"),
        *("--failure", f"results/{run.name}/{here}/failure.json"),
    ]
    done = engine.in_loadgen(words, log=folder / "verify.txt", folder=here)
    if done.status == 0:
        say(f"{service}: verified ({done.last_line})")
    elif crowd and (done.status == ONLY_LATE or not run.failed(service)):
        set_aside(run, service)
    else:
        save_end(engine, service)
        leave_out(engine, service, "verification", str(done.status))


def set_aside(run: Run, service: str) -> None:
    """Moves the results away, because the machine may be to blame: the service is verified once more, alone."""
    say(f"{service}: timed out or was interrupted; it will be verified again, alone, after the others")
    folder = run.service_folder(service)
    (folder / "beside").mkdir(parents=True, exist_ok=True)
    for name in FOUND:
        if (folder / name).exists():
            (folder / name).replace(folder / "beside" / name)


def is_set_aside(run: Run, service: str) -> bool:
    """Whether `set_aside` was called for it."""
    return (run.service_folder(service) / "beside").exists()


def end_under_load(engine: Engine, service: str, crowd: bool) -> None:
    """Checks the shutdown. A service that had to be killed while others were verified is retried alone."""
    if check_shutdown(engine, service) == KILLED and crowd:
        set_aside(engine.run, service)


def check_shutdown(engine: Engine, service: str) -> int:
    """Sends SIGTERM during requests (one takes half a second), and SIGKILL after 10 s, like `docker stop`.

    Writes stop.json; returns the service's exit status.
    """
    run, status = engine.run, 0
    for number in range(1, TRIES + 1):
        if number > 1 and not (started(engine, service) and await_answer(engine, service)):
            break
        load = ["sh", "-c", LOAD, f"http://{service}:8080"]
        Thread(target=engine.in_loadgen, args=(load,), daemon=True).start()
        sleep(0.5)
        begin = monotonic_ns()
        docker("stop", "--time", "10", run.container(service), check=False)
        end = monotonic_ns()
        status = int(docker("inspect", "--format", "{{.State.ExitCode}}", run.container(service)).out)
        stopped = {"exit_status": status, "tries": number, "begin_ns": begin, "end_ns": end}
        save_json(run.service_folder(service) / "stop.json", stopped)
        if status in (0, 128 + SIGTERM):
            break
    engine.stop([service])
    return status


def check_targets(engine: Engine) -> None:
    """Before the build, checks that targets answer; in a resumed run, that they answer as when it began."""
    run = engine.run
    if not run.targets:
        return
    with engine.on_host_network():
        for service in run.targets:
            log = run.service_folder(service) / "verify.txt"
            done = engine.in_loadgen(["python3", "-m", "bench", "target-answers", run.name, service], log=log)
            if done.status == USER:
                raise Failure(USER, done.last_line.replace("bench: ", "", 1))
            if done.status:
                warn(done.last_line)


def verify_targets(engine: Engine) -> None:
    """In a run of a user's own app, targets must give the same answers as the app."""
    run = engine.run
    if not (run.own_app and run.targets):
        return
    with engine.on_host_network():
        for service in run.targets:
            if not run.failed(service):
                check_own_answers(engine, service)

"""Verifies each service before any load; one that fails is left out."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from time import sleep, time_ns

from driver.counters import PROC
from driver.engines.choose import engine_of
from driver.engines.protocol import Engine
from driver.failure import RUN, Failure
from driver.files import save, text_of
from driver.run import open_run
from driver.services.contract import check_contract, is_set_aside, set_aside
from driver.services.own_answers import check_own_answers
from driver.services.ready import await_answer, leave_out, patience, save_end, started
from driver.services.shutdown import end_under_load
from driver.services.sockets import check_sockets
from driver.services.targets import verify_targets
from driver.together import together

TRIES = 3


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
    # The start-up time of a user's own app is measured here, so nothing may run beside it.
    jobs = options.jobs or (1 if run.host.own_app else jobs_at_a_time())
    verify_services(engine, jobs, options.contract)
    if not options.contract:
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


def verify_services(engine: Engine, jobs: int, contract: bool) -> None:
    """Verifies all, and those again, alone, that were only late beside others.

    `contract`: nothing is measured afterwards; checks sockets and shutdown too, and skips what only figures need.
    """
    run = engine.run
    crowd = len(run.host.containers) > 1 and jobs > 1
    asked = [service for service in run.host.containers if not run.failed(service)]
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
    """Restarts dependencies that have ended; services that failed meanwhile are to be verified again."""
    revived = engine.revive()
    for service in services if revived else ():
        if engine.run.failed(service):
            set_aside(engine.run, service)
    return revived


def verify_service(engine: Engine, service: str, crowd: bool, contract: bool) -> None:
    """Verifies one service. `crowd`: others are verified at the same time."""
    run, folder = engine.run, engine.run.service_folder(service)
    folder.mkdir(parents=True, exist_ok=True)
    if not contract:
        engine.save_provenance(service)
    if (folder / "verify.json").exists():
        return
    found = started(engine, service)
    if found is None:
        leave_out(engine, service, "start")
    elif not await_answer(engine, service):
        # If it answers on its own machine, the network between machines has lost it.
        if not is_set_aside(run, service) and engine.answers_at_home(service):
            set_aside(run, service)
        else:
            save_end(engine, service)
            leave_out(engine, service, "answer", patience(run))
    else:
        if run.host.own_app:
            save(folder / "started.txt", f"{found.started_ns.get(service) or ''} {time_ns()}\n")
        if not contract:
            save_idle(engine, service)
            save(folder / "limits.txt", engine.limits(service))
        if run.host.own_app:
            check_own_answers(engine, service)
        else:
            check_contract(engine, service, crowd)
        if contract and (folder / "verify.json").exists():
            check_sockets(engine, service)
            end_under_load(engine, service, crowd)
    engine.stop([service])


def save_idle(engine: Engine, service: str) -> None:
    """Saves the counters of an idle service, once its memory is stable (5 s at most).

    The first worker may answer while others are still loading.
    """
    now = 0.0
    for _ in range(25):
        was, lines = now, engine.state_lines(service)
        known = re.search(r"^memory_current_bytes (\d+)$", lines, re.MULTILINE)
        now = float(known.group(1)) if known else 0
        if now <= was * 1.01:
            break
        sleep(0.2)
    save(engine.run.service_folder(service) / "idle.txt", lines + engine.file_memory(service))

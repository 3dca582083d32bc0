"""Each service is verified once, before any load; what fails is not loaded."""

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
    """`verify RUN [--jobs N] [--contract [--quiet]]`: all services; of the contract alone a table is printed."""
    parser = ArgumentParser(prog="verify")
    parser.add_argument("run")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--contract", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(argv)
    run = open_run(options.run)
    engine = engine_of(run)
    # Of one's own app the start-up is measured too.
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
    """How many services are verified side by side: two on a core, where memory allows."""
    free = re.search(r"^MemAvailable: *(\d+) kB$", text_of(PROC / "meminfo") or "", re.MULTILINE)
    room = int(free.group(1)) >> 20 if free else 1
    return min(2 * len(os.sched_getaffinity(0)), max(room, 1))


def verify_services(engine: Engine, jobs: int, contract: bool) -> None:
    """What was only late beside others is verified once more, alone, as that may be the machine's fault.

    `contract`: nothing will be measured, so that what only figures need is left out, and how sockets are and a service
    ends is checked too.
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
    """What all services need and has ended; with it those that failed are to be verified again."""
    revived = engine.revive()
    for service in services if revived else ():
        if engine.run.failed(service):
            set_aside(engine.run, service)
    return revived


def verify_service(engine: Engine, service: str, crowd: bool, contract: bool) -> None:
    """`crowd`: others are verified beside it."""
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
        # Else the network between two machines has lost it.
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
    """The counters of a service that was asked for one answer, once its memory has settled (5 s at most).

    Other workers may still load while the first one answers.
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

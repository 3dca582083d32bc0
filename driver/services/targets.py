"""Checks servers that already run (--target)."""

from __future__ import annotations

from driver.engines.protocol import Engine
from driver.failure import USER, Failure, warn
from driver.services.own_answers import check_own_answers


def check_targets(engine: Engine) -> None:
    """Before the build: whether they answer; in a resumed run, whether as they did when it began."""
    run = engine.run
    if not run.host.targets:
        return
    with engine.on_host_network():
        for service in run.host.targets:
            log = run.service_folder(service) / "verify.txt"
            done = engine.in_loadgen(["python3", "-m", "bench", "target-answers", run.name, service], log=log)
            if done.status == USER:
                raise Failure(USER, done.last_line.replace("bench: ", "", 1))
            if done.status:
                warn(done.last_line)


def verify_targets(engine: Engine) -> None:
    """In a run of a user's own app, they must give the same answers."""
    run = engine.run
    if not (run.host.own_app and run.host.targets):
        return
    with engine.on_host_network():
        for service in run.host.targets:
            if not run.failed(service):
                check_own_answers(engine, service)

"""Records the right answers of a user's own app, and checks services against them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from driver.engines.protocol import Engine
from driver.failure import USER, Failure, say
from driver.messages import OwnApp
from driver.services.ready import await_answer, leave_out, patience, save_end, save_log, started

SERVERS = 3
"""Services that are tried, at most, to record the answers."""


def record_answers(engine: Engine, app: OwnApp, services: Sequence[str]) -> None:
    """Records the answers of the first service that gives any; Failure if they cannot serve as a reference."""
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
        leave_out(engine, service, "answer", patience(run))
        engine.stop([service])
    none = f"{app.app} gives no answer on any of {' '.join(asked)}"
    refuse(engine, none, run.service_folder(asked[0]) / "server.log")


def refuse(engine: Engine, words: str, log: Path) -> NoReturn:
    """Failure with the app's own traceback, if the log has one."""
    place = f"results/{engine.run.name}/{log.relative_to(engine.run.folder)}"
    trace, _, last = engine.bench("own-trace", place).out.rstrip("\n").rpartition("\n")
    if trace:
        print(trace, file=sys.stderr)
    raise Failure(USER, words + (f": {last}" if last else ""))


def check_own_answers(engine: Engine, service: str) -> None:
    """The verification of an own app, in place of the contract."""
    words = ["python3", "-m", "bench", "own-answers", "check", engine.run.name, service]
    done = engine.in_loadgen(words, log=engine.run.service_folder(service) / "verify.txt")
    if done.status == 0:
        say(f"{service}: answers as recorded")
    else:
        save_end(engine, service)
        leave_out(engine, service, "verification")

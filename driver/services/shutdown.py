"""Checks how a service handles SIGTERM under load."""

from __future__ import annotations

from signal import SIGKILL, SIGTERM
from threading import Thread
from time import monotonic_ns, sleep

from driver.docker import docker
from driver.engines.protocol import Engine
from driver.files import save_json
from driver.services.contract import set_aside
from driver.services.ready import await_answer, started

KILLED = 128 + SIGKILL
TRIES = 3
"""As many as for other checks that depend on timing."""
LOAD = 'curl --silent --max-time 3 "$0/?duration=500" & exec hey -z 2s -c 8 -q 25 -t 2 "$0/json"'


def end_under_load(engine: Engine, service: str, crowd: bool) -> None:
    """The check; a service that was killed while others were verified beside it gets another try, alone."""
    if check_shutdown(engine, service) == KILLED and crowd:
        set_aside(engine.run, service)


def check_shutdown(engine: Engine, service: str) -> int:
    """Sends SIGTERM during requests, one of which takes half a second, and SIGKILL after 10 s, like `docker stop`.

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

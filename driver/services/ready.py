"""A service until its first answer, and what is kept of one that gives none."""

from __future__ import annotations

from contextlib import suppress
from math import ceil
from time import monotonic

from driver.docker import DockerError
from driver.engines.protocol import Engine, Started
from driver.failure import warn
from driver.files import save
from driver.run import Run

# Two seconds of tries by one command: to enter a container costs more than to ask.
TRY = """up() { read -r up _ </proc/uptime && up=${up%.*}; }
up && end=$((up + 2))
until words=$(curl --silent --show-error --output /dev/null --max-time "$1" "$0" 2>&1); do
    up && [ "$up" -lt "$end" ] || { echo "$words" && exit 1; }
    sleep 0.1
done"""


def started(engine: Engine, service: str) -> Started | None:
    """Its fresh container; None where it does not start."""
    try:
        found = engine.start([service])
    except DockerError:
        return None
    return found if service in found.up else None


def patience(run: Run) -> str:
    """For how many seconds a first answer is waited for."""
    return run.setting("READY_TIMEOUT", "30")


def await_answer(engine: Engine, service: str) -> bool:
    """Whether it answers anything at all, before the time is up or its container ends.

    What the last try came to is in its answer.txt.
    """
    log = engine.run.service_folder(service) / "answer.txt"
    url = f"http://{engine.address(service)}/"
    give_up = monotonic() + float(patience(engine.run))
    while (left := give_up - monotonic()) > 0:
        # One that accepts connections and answers none takes no longer than is left.
        if engine.in_loadgen(["sh", "-c", TRY, url, str(min(5, ceil(left)))], log=log).status == 0:
            log.unlink()
            return True
        if not (engine.is_running(service) and engine.is_running("loadgen")):
            return False
    return False


def leave_out(engine: Engine, service: str, cause: str, detail: str = "") -> None:
    """It has failed and is not loaded, and the report says why; `bench service-failed` has the causes."""
    done = engine.bench("service-failed", engine.run.name, service, cause, *([detail] if detail else []))
    if done.status:
        raise DockerError(f"{service}: {cause}: {done.last_line}")
    warn(done.out.strip())


def save_log(engine: Engine, service: str) -> None:
    """Its last words."""
    with suppress(DockerError):
        save(engine.run.service_folder(service) / "server.log", engine.log(service))


def save_end(engine: Engine, service: str) -> None:
    """Its last words, and whether it was killed for want of memory."""
    save_log(engine, service)
    with suppress(DockerError):
        save(engine.run.service_folder(service) / "state.txt", engine.state_lines(service))

"""Starts a service, waits for its first answer, and saves its log if there is none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from math import ceil
from time import monotonic

from driver.docker import DockerError
from driver.engines.engine import Container, Engine
from driver.failure import USER, Failure, warn
from driver.files import save
from driver.messages import Step

# Retries for two seconds within one command, because `docker exec` takes longer than a request.
TRY = """up() { read -r up _ </proc/uptime && up=${up%.*}; }
up && end=$((up + 2))
until words=$(curl --silent --show-error --output /dev/null --header "Host: localhost" --max-time "$1" "$0" 2>&1); do
    up && [ "$up" -lt "$end" ] || { echo "$words" && exit 1; }
    sleep 0.1
done"""


def started(engine: Engine, service: str) -> Container | None:
    """Starts a fresh container; None if that fails."""
    with suppress(DockerError):
        return engine.start(Step(id="", dir="", services=(service,), folders=())).get(service)
    return None


def patience(settings: Mapping[str, str]) -> str:
    """Seconds to wait for a first answer; Failure if the setting is not a number."""
    return seconds(settings, "READY_TIMEOUT", "30")


def seconds(settings: Mapping[str, str], name: str, default: str) -> str:
    """The seconds in a setting; Failure if it is not a number."""
    text = settings.get(name) or default
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]+)?", text):
        raise Failure(USER, f"{name}='{text}' is not a number of seconds; fix it in the environment")
    return text


def await_answer(engine: Engine, service: str) -> bool:
    """Waits for any answer until the time is up or the container has ended; whether there was one.

    If not, answer.txt has the error of the last try.
    """
    log = engine.run.service_folder(service) / "answer.txt"
    url = f"http://{engine.address(service)}/"
    longest = float(patience(engine.run.settings))
    give_up = monotonic() + longest
    while (left := give_up - monotonic()) > 0:
        # Some servers never answer a connection that came too early, and some apps need long for their first page.
        limit = ceil(min(left, max(5, longest / 2)))
        if engine.in_loadgen(["sh", "-c", TRY, url, str(limit)], log=log).status == 0:
            log.unlink()
            return True
        if not (engine.is_running(service) and engine.is_running("loadgen")):
            return False
    return False


def leave_out(engine: Engine, service: str, cause: str, detail: str = "") -> None:
    """Marks a service as failed, so that it is not loaded. `cause`: one of `bench service-failed`."""
    warn(engine.told("service-failed", engine.run.name, service, cause, *([detail] if detail else [])).strip())


def save_log(engine: Engine, service: str) -> None:
    """Saves the end of the service's log."""
    with suppress(DockerError):
        save(engine.run.service_folder(service) / "server.log", engine.log(service))


def save_end(engine: Engine, service: str) -> None:
    """Saves the end of the service's log, and its state, which tells whether it ran out of memory."""
    save_log(engine, service)
    with suppress(DockerError):
        save(engine.run.service_folder(service) / "state.txt", engine.state_lines(service))

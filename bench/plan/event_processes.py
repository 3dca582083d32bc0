"""Events of processes: what the cases of several share."""

from __future__ import annotations

from dataclasses import replace

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import BEFORE_S, Event
from driver.messages import Action


def reloaded(event: Event, service: Service, _: Reads) -> Event | str:
    """The event with the reload signal from the server's documentation, or why there is none."""
    reload = service.server.reload
    if reload is None:
        return "its server.toml does not say how it reloads"
    if not reload.signal:
        return f"{reload.says} ({reload.source})"
    action = Action(BEFORE_S, "signal", reload.signal, "main")
    return replace(event, actions=(action,), documented=f"{reload.says} ({reload.source})")

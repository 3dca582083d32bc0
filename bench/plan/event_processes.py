"""Events of processes: what the cases of several share."""

from __future__ import annotations

from dataclasses import replace

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import BEFORE_S, NO_CASE, RESTORED, Event, Kind, Question, easy
from driver.messages import Action

NEW_EVERY = 5
"""Of so many requests, one is on a new connection: kept ones belong to the workers that were there before."""
ONE_APART_S, ALL_APART_S = 1.0, 3.0
"""Seconds between services side by side if one worker boots, or if all do."""


def reloaded(event: Event, service: Service, _: Reads) -> Event | str:
    """The event with the reload signal from the server's documentation, or why there is none."""
    reload = service.server.reload
    if reload is None:
        return "its server.toml does not say how it reloads"
    if not reload.signal:
        return f"{reload.says} ({reload.source})"
    action = Action(BEFORE_S, "signal", reload.signal, "main")
    return replace(event, actions=(action,), documented=f"{reload.says} ({reload.source})")


def struck(name: str, signal: str, most_s: float) -> Kind:
    """A signal to one of the workers, from which the server should recover."""
    action = Action(BEFORE_S, "signal", signal, "worker")
    event = easy(name, NO_CASE, most_s, actions=(action,), until=RESTORED, new_every=NEW_EVERY, apart_s=ONE_APART_S)
    return Kind(f"SIG{signal} to one of four workers", "delay-50", (event,), question=Question.CRASH)

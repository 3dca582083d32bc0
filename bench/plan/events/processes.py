"""Events of processes: reload, stop, a killed or hung worker, recycled workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import BEFORE_S, ENDED, NO_CASE, POOL, RESTORED, SWAPPED, Event, EventCase, Kind, Question, easy
from driver.messages import Action

IDLE = 16
"""Connections that are idle when the server is told to stop, like those that a proxy keeps."""
NEW_EVERY = 5
"""Of so many requests, one is on a new connection: kept ones belong to the workers that were there before."""
MAX_REQUESTS, JITTER = 1000, 100
RECYCLE_RATE = 800.0
"""Requests/s, enough to recycle each of four workers several times in a window."""
BOOTS_S = (0, 2, 5)
"""How long the app takes to boot, in seconds."""
ONE_APART_S, ALL_APART_S = 1.0, 3.0
"""Seconds between services side by side if one worker boots, or if all do."""
RECYCLED, NEVER = EventCase(f"every {MAX_REQUESTS}"), EventCase("never")
_KEPT = "keep-alive"
_NEW = "new connections"


def reloaded(event: Event, service: Service, _: Reads) -> Event | str:
    """The event with the reload signal from the server's documentation, or why there is none."""
    reload = service.server.reload
    if reload is None:
        return "its server.toml does not say how it reloads"
    if not reload.signal:
        return f"{reload.says} ({reload.source})"
    action = Action(BEFORE_S, "signal", reload.signal, "main")
    return replace(event, actions=(action,), documented=f"{reload.says} ({reload.source})")


def _recycled(event: Event, service: Service, reads: Reads) -> Event | str:
    if reads(service, "MAX_REQUESTS"):
        return f"{service.server.name} has no setting to replace a worker after a number of requests"
    return event


def _struck(name: str, signal: str, most_s: float) -> Kind:
    """A signal to one of the workers, from which the server should recover."""
    action = Action(BEFORE_S, "signal", signal, "worker")
    event = easy(name, NO_CASE, most_s, actions=(action,), until=RESTORED, new_every=NEW_EVERY, apart_s=ONE_APART_S)
    return Kind(f"SIG{signal} to one of four workers", "delay-50", (event,), question=Question.CRASH)


PROCESSES: Mapping[str, Kind] = MappingProxyType(
    {
        "reload": Kind(
            "the server's documented reload, with and without keep-alive, the app booting in 0, 2 and 5 s",
            "delay-50",
            tuple(
                easy(
                    "reload",
                    EventCase(case + (f", boot {boot} s" if boot else ""), connections=case, boot_s=boot),
                    40.0 + 8 * boot,
                    until=SWAPPED,
                    apart_s=ALL_APART_S,
                    pool=POOL if case is _KEPT else 0,
                    environment={"BOOT_S": str(boot)} if boot else {},
                )
                for boot in BOOTS_S
                for case in (_KEPT, _NEW)
            ),
            reloaded,
        ),
        "stop": Kind(
            "SIGTERM with requests in flight, idle connections and a response that takes 5 s",
            "delay-50",
            (
                easy(
                    "stop",
                    NO_CASE,
                    45.0,
                    actions=(Action(BEFORE_S, "stop", "TERM", "main"),),
                    until=ENDED,
                    slow="idle",
                    slow_steps=(IDLE,),
                    settle_s=1.0,
                    timeout_s=10.0,
                    long_path="/?duration=5000",
                ),
            ),
        ),
        "killed": _struck("killed", "KILL", 25.0),
        "hung": _struck("hung", "STOP", 45.0),
        "recycle": Kind(
            f"workers end after {MAX_REQUESTS:,} requests (and up to {JITTER} more), beside workers that stay",
            "plaintext",
            (
                easy(
                    "recycle",
                    RECYCLED,
                    10.0,
                    most_rate=RECYCLE_RATE,
                    environment={"MAX_REQUESTS": str(MAX_REQUESTS), "MAX_REQUESTS_JITTER": str(JITTER)},
                    most_beside=1,
                ),
                easy("recycle", NEVER, 6.0, most_rate=RECYCLE_RATE, most_beside=1),
            ),
            _recycled,
            floor=False,
        ),
    }
)

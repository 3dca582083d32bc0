"""Events of load: overload, slow clients, idle connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import BEFORE_S, MOST_BESIDE, RECOVERED, Event, EventCase, Kind, Phase, Question, easy

SLOW_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
OPENED_APART_S = 2.0
"""Seconds between services side by side that each get thousands of connections."""
MOST_HELD = {"CONNECTIONS": "4096"}
"""What each worker may hold of idle connections, where its server has a limit: as much as waitress is given."""
MOST_IDLE = 10_000
"""Idle connections of all services side by side: opening more keeps the client too busy to send its load in time."""
SEEN_S = 42.0
"""Seconds to watch the first slow connections: servers close them after 30 s or less, or after 60 s or more."""
LARGE_MB = 10
_AFTER = 0.5
"""The share of the capacity that is asked for after an overload."""
MOST_SHORT = 128
"""A backlog up to MOST_SHORT is worked off within a second, for which the clients of an overload wait."""
LONG = (Phase(0.5, 4.0), Phase(1.5, 6.0), Phase(3.0, 20.0))
_SLOW: tuple[tuple[str, str, str], ...] = (
    ("silent", "silent", ""),
    ("a header byte a second", "header", ""),
    ("a body byte a second", "body", "/echo"),
    (f"{LARGE_MB} MB read a KB a second", "read", "/large"),
)
"""(case, what the connections do, path that they request)."""


def _overload(case: EventCase, *phases: Phase) -> Event:
    """An overload with a window in which any server of unchanged capacity works off its queue.

    That takes longest if it keeps everything that it cannot answer at once, and also works on requests whose clients
    have left.
    """
    queued_s = sum((phase.share - 1) * phase.seconds for phase in phases if phase.share > 1)
    return Event(
        name="overload",
        case=case,
        phases=(*phases, Phase(_AFTER, queued_s / (1 - _AFTER))),
        timeout_s=1.0,
        most_rate=None,
        most_beside=1,
        until=RECOVERED,
        environment={"TELL_PID": "1", "WORK_MS": "5"},
    )


def _with_own_backlog(event: Event, service: Service, _: Reads) -> Event | str:
    """In the case of their own, servers whose backlog is worked off before the clients leave."""
    backlog = service.server.defaults.get("backlog")
    if not event.case.own_backlog:
        return event
    if backlog is None or int(backlog.value) > MOST_SHORT:
        return f"its default backlog is not short: see `{event.name}, 20 s`"
    return replace(event, environment={**event.environment, "BACKLOG": backlog.value})


def _slowed(event: Event, service: Service, reads: Reads) -> Event | str:
    if event.slow == "read" and (service.framework.own or reads(service, "LARGE_MB")):
        return f"{service.framework.name} has no response of {LARGE_MB} MB"
    return event


LOADS: Mapping[str, Kind] = MappingProxyType(
    {
        "overload": Kind(
            "0.5, 1.5 and 3 times the capacity, then 0.5 again; each request takes 5 ms of CPU, the client waits 1 s",
            "plaintext",
            (
                _overload(EventCase("20 s"), *LONG),
                _overload(EventCase("20 s, own backlog", own_backlog=True), *LONG),
                _overload(EventCase("10 s"), Phase(0.5, 4.0), Phase(1.5, 3.0), Phase(3.0, 10.0)),
            ),
            _with_own_backlog,
            floor=False,
            question=Question.OVERLOAD,
        ),
        "slow": Kind(
            "1 to 256 slow connections: silent, or each second a byte of a header or of a body, or a KB read of 10 MB",
            "plaintext",
            tuple(
                easy(
                    "slow",
                    EventCase(case),
                    BEFORE_S + SEEN_S,
                    slow=slow,
                    slow_steps=SLOW_STEPS,
                    pool=0,
                    timeout_s=1.0,
                    most_rate=50.0,
                    slow_path=path,
                    environment={"LARGE_MB": str(LARGE_MB)} if slow == "read" else {},
                )
                for case, slow, path in _SLOW
            ),
            _slowed,
            question=Question.SLOW_CLIENTS,
        ),
        "connections": Kind(
            "1,000 and 5,000 connections, idle after one response, beside a light load",
            "plaintext",
            tuple(
                easy(
                    "connections",
                    EventCase(f"{count} idle"),
                    18.0,
                    slow="idle",
                    slow_steps=(count,),
                    most_beside=min(MOST_BESIDE, MOST_IDLE // count),
                    slow_step_s=10.0,
                    environment=MOST_HELD,
                    apart_s=OPENED_APART_S,
                )
                for count in (1000, 5000)
            ),
            question=Question.IDLE,
        ),
    }
)

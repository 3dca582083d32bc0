"""Bursts of requests that each hold a thread or a database connection, beside health checks."""

from __future__ import annotations

from dataclasses import replace

from bench.matrix.knobs import THREADS, Reads
from bench.matrix.model import Service
from bench.plan.event import BEFORE_S, EASY, Event, Phase, kind_of

HOLD_S = 1.5
"""Seconds that a request of a burst holds its place."""
OWN_THREADS, MORE_THREADS = 4, 16
"""THREADS of a server with a thread pool: few, to exhaust the threads; more, to exhaust the database pool first."""
NO_POOL = "it has no `def` routes that run in a pool of threads"


def steps_of(places: int) -> tuple[int, ...]:
    """The sizes of the bursts: one less than `places`, as many, one more, twice as many."""
    return tuple(dict.fromkeys(count for count in (places - 1, places, places + 1, 2 * places) if count))


def _exhausted(event: Event, service: Service, reads: Reads) -> Event | str:
    assert event.needs
    threads = not reads(service, THREADS)
    if why := _not_exhausted(event, service, threads=threads):
        return why
    if event.needs.scenario:
        more = {THREADS: str(MORE_THREADS)} if threads else {}
        return replace(event, environment={**event.environment, **more})
    if pool := service.framework.pool:
        path, says = pool.path.replace("{n}", f"{HOLD_S * 1000:.0f}"), f"{pool.says} ({pool.source})"
        health = pool.path.replace("{n}", "0") if event.case == IN_POOL else ""
        return replace(_waiting(event, service, path, pool.threads), path=health, documented=says)
    places = int(service.settings.get(THREADS, OWN_THREADS)) if threads else 1
    more = {THREADS: str(places)} if threads else {}
    waiting = _waiting(event, service, f"/?duration={HOLD_S * 1000:.0f}", places)
    return replace(waiting, environment={**event.environment, **more})


def _not_exhausted(event: Event, service: Service, *, threads: bool) -> str:
    """Why this service cannot have the event; empty if it can. `threads`: whether its server has a thread pool."""
    if (event.needs and event.needs.scenario) or service.framework.pool:
        return ""
    if service.server.style == "async":
        return f"{service.framework.name}: {NO_POOL}"
    if event.case == IN_POOL:
        return "every route of a WSGI app waits for the same threads: see `exhausted, threads`"
    if service.server.concurrent and not threads:
        return f"{service.server.name} has a thread or greenlet for each connection, and no pool of them"
    return ""


def _waiting(event: Event, service: Service, path: str, each: int) -> Event:
    """`each`: how many requests can wait at once in a worker. There is one worker unless --vary says otherwise."""
    assert event.needs
    places = each * int(service.settings.get("WORKERS", 1))
    steps = steps_of(places)
    needs = replace(event.needs, path=path, steps=steps, places=places)
    return replace(event, needs=needs, phases=(Phase(EASY, BEFORE_S + needs.step_s * len(steps)),))


CASES = kind_of(__file__, _exhausted)
THREADS_TAKEN, IN_POOL, CONNECTIONS_TAKEN = (one.case for one in CASES.cases)

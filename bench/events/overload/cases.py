"""Up to three times the capacity, and then half of it, until the service has recovered."""

from __future__ import annotations

from dataclasses import replace

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import Event, EventCase, kind_of

MOST_SHORT = 128
"""A backlog up to MOST_SHORT is worked off within a second, for which the clients of an overload wait."""
OWN_BACKLOG = EventCase("20 s, own backlog")


def _with_own_backlog(event: Event, service: Service, _: Reads) -> Event | str:
    """In the case of their own, servers whose backlog is worked off before the clients leave."""
    backlog = service.server.defaults.get("backlog")
    if event.case != OWN_BACKLOG:
        return event
    if backlog is None or int(backlog.value) > MOST_SHORT:
        return f"its default backlog is not short: see `{event.name}, 20 s`"
    return replace(event, environment={**event.environment, "BACKLOG": backlog.value})


CASES = kind_of(__file__, _with_own_backlog)

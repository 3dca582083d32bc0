"""Events of what a service needs, which is not known of a user's own app."""

from __future__ import annotations

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from bench.plan.event import Event

OWN_APP = "it is not known what your own app depends on"


def not_of_own_apps(event: Event, service: Service, _: Reads) -> Event | str:
    """The event, or why a user's own app cannot have it."""
    return OWN_APP if service.framework.own else event

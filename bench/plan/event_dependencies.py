"""Events of what a service needs: health checks, beside requests that wait for a thread or a dependency.

All services side by side share the dependencies that are down or locked, so their loads begin together (apart_s=0).
"""

from __future__ import annotations

from typing import Any

from bench.plan.event import Event, EventCase, Needs, easy

HEALTH_RATE, HEALTH_TIMEOUT_S = 20.0, 1.0
OWN_APP = "it is not known what your own app depends on"


def health_checks(name: str, case: EventCase, seconds: float, needs: Needs, **more: Any) -> Event:
    """A load of health checks, beside the requests of `needs`."""
    return easy(name, case, seconds, needs=needs, pool=0, timeout_s=HEALTH_TIMEOUT_S, most_rate=HEALTH_RATE, **more)

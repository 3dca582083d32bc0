"""Events of a service behind a proxy: replaced containers, and kept connections that the server closes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bench.plan.events.event import AROUND_S, BEFORE_S, OPENED_S, POOL, ROLLED, SWEPT, Event, Kind, easy
from driver.messages import Action

PROXIES_BY_CASE = (("nginx", "nginx"), ("HAProxy", "haproxy"))
IDLE_MOST_S = 20.0
ROLLING_BESIDE, ROLLING_APART_S = 4, 6.0
"""Services rolled side by side, each with two containers, and the seconds between their starts.

With eight services 3 s apart, a container took 12 to 35 s to be back instead of 5 s.
"""
WAIT_S = 3.0
"""Seconds from taking a container out of the proxy to its SIGTERM, as with a pre-stop hook in Kubernetes."""


def _rolling(case: str, proxy: str, wait_s: float) -> Event:
    return easy(
        "rolling",
        f"behind {case}" + (f", pre-stop {wait_s:g} s" if wait_s else ""),
        60.0,
        actions=tuple(Action(BEFORE_S, "swap", "TERM", number, wait_s) for number in ("1", "2")),
        until=ROLLED,
        most_beside=ROLLING_BESIDE,
        apart_s=ROLLING_APART_S,
        proxy=proxy,
        # A reload of nginx closes its clients' kept connections, which is not the question here. HAProxy reuses a
        # connection to a container only for requests on a kept client connection.
        pool=0 if proxy == "nginx" else POOL,
    )


PROXIES: Mapping[str, Kind] = MappingProxyType(
    {
        "rolling": Kind(
            "two containers behind nginx or HAProxy, restarted one after the other",
            "delay-50",
            tuple(_rolling(case, proxy, wait_s) for case, proxy in PROXIES_BY_CASE for wait_s in (0.0, WAIT_S)),
            floor=False,
        ),
        "idle-close": Kind(
            f"kept-alive connections, used again within {1000 * AROUND_S:.0f} ms of the server's idle timeout",
            "delay-50",
            (easy("idle-close", "", 2 * IDLE_MOST_S + OPENED_S + 3.0, until=SWEPT, idle_most_s=IDLE_MOST_S),),
        ),
    }
)
IDLE_OF_PROXIES: Mapping[str, float] = MappingProxyType(
    {"nginx": 60.0, "AWS Application Load Balancer": 60.0, "Caddy": 120.0, "Envoy": 3600.0}
)
"""Default seconds after which proxies close an idle connection to a server (sources in docs/events.md).

A server that closes it sooner may do so while a request is on its way.
"""

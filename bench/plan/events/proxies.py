"""Events of a service behind a proxy: replaced containers, and kept connections that the server closes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from bench.plan.event import AROUND_S, BEFORE_S, OPENED_S, POOL, ROLLED, SWEPT, Event, EventCase, Kind, Question, easy
from driver.messages import Action

PROXIES_BY_CASE = (("nginx", "nginx"), ("HAProxy", "haproxy"))
WATCHED_S = (20.0, 65.0)
"""Seconds for which idle connections are watched; most proxies keep theirs for 60 s (IDLE_OF_PROXIES)."""
ROLLING_BESIDE, ROLLING_APART_S = 4, 6.0
"""Services rolled side by side, each with two containers, and the seconds between their starts.

With eight services 3 s apart, a container took 12 to 35 s to be back instead of 5 s.
"""
DOCKER = Action(BEFORE_S, "swap", "TERM")
KUBERNETES = replace(DOCKER, wait_s=3.0, grace_s=30.0)
"""`wait_s` stands for a pre-stop hook: meanwhile the container is out of the proxy, and still runs."""
SYSTEMD = replace(DOCKER, grace_s=90.0, every_process=True)
"""KillMode=control-group and DefaultTimeoutStopSec of systemd."""
SWAPS = (("", DOCKER, ""), (f", pre-stop {KUBERNETES.wait_s:g} s", KUBERNETES, ""), (" by systemd", SYSTEMD, "systemd"))
SWAPS_S = 40.0
"""Seconds for two swaps, besides the time that servers may take to end."""


def _rolling(name: str, proxy: str, more: str, swap: Action, manager: str) -> Event:
    return easy(
        "rolling",
        EventCase(f"behind {name}{more}", proxy=name, manager=manager, pre_stop_s=swap.wait_s),
        SWAPS_S + 2 * swap.grace_s,
        actions=tuple(replace(swap, to=number) for number in ("1", "2")),
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
            tuple(_rolling(name, proxy, *swap) for name, proxy in PROXIES_BY_CASE for swap in SWAPS),
        ),
        "idle-close": Kind(
            f"kept-alive connections, used again within {1000 * AROUND_S:.0f} ms of the server's idle timeout",
            "delay-50",
            tuple(
                easy(
                    "idle-close",
                    EventCase(f"up to {most_s:g} s", watched_s=most_s),
                    2 * most_s + OPENED_S + 3.0,
                    until=SWEPT,
                    idle_most_s=most_s,
                )
                for most_s in WATCHED_S
            ),
            question=Question.IDLE,
        ),
    }
)
IDLE_OF_PROXIES: Mapping[str, float] = MappingProxyType(
    {"nginx": 60.0, "AWS Application Load Balancer": 60.0, "Caddy": 120.0, "Envoy": 3600.0}
)
"""Default seconds after which proxies close an idle connection to a server (sources in docs/deploying.md).

A server that closes it sooner may do so while a request is on its way.
"""

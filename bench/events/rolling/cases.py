"""Two containers behind nginx or HAProxy, restarted as Docker, Kubernetes or systemd does it."""

from __future__ import annotations

from dataclasses import replace

from bench.plan.event import BEFORE_S, POOL, ROLLED, Event, EventCase, Kind, Question, easy
from driver.messages import Action

PROXIES = (("nginx", "nginx"), ("HAProxy", "haproxy"))
BESIDE, APART_S = 4, 6.0
"""Services rolled side by side, each with two containers, and the seconds between their starts.

With eight services 3 s apart, a container took 12 to 35 s to be back instead of 5 s.
"""
DOCKER = Action(BEFORE_S, "swap", "TERM")
KUBERNETES = replace(DOCKER, wait_s=3.0, grace_s=30.0)
"""`wait_s` stands for a pre-stop hook: meanwhile the container is out of the proxy, and still runs."""
SYSTEMD = replace(DOCKER, grace_s=90.0, every_process=True)
"""KillMode=control-group and DefaultTimeoutStopSec of systemd."""
WAIT = f", pre-stop {KUBERNETES.wait_s:g} s"
SWAPS = (("", DOCKER), (WAIT, KUBERNETES), (" by systemd", SYSTEMD))
SWAPS_S, USUAL_S = 40.0, 15.0
"""Seconds for two swaps, besides the time that servers may take to end; and in total, as expected."""


def _rolling(name: str, proxy: str, more: str, swap: Action) -> Event:
    return easy(
        "rolling",
        EventCase(f"behind {name}{more}"),
        SWAPS_S + 2 * swap.grace_s,
        actions=tuple(replace(swap, to=number) for number in ("1", "2")),
        until=ROLLED,
        most_beside=BESIDE,
        apart_s=APART_S,
        proxy=proxy,
        # A reload of nginx closes its clients' kept connections, which is not the question here. HAProxy reuses a
        # connection to a container only for requests on a kept client connection.
        pool=0 if proxy == "nginx" else POOL,
    )


CASES = Kind(
    "two containers behind nginx or HAProxy, restarted one after the other",
    "delay-50",
    tuple(_rolling(name, proxy, *swap) for name, proxy in PROXIES for swap in SWAPS),
    question=Question.DEPLOY,
    usual_s=lambda _: USUAL_S,
)

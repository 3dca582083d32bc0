"""Two containers behind nginx or HAProxy, restarted as Docker, Kubernetes or systemd does it."""

from __future__ import annotations

from bench.plan.event import kind_of

CASES = kind_of(__file__)
WAIT_S = max(action.wait_s for one in CASES.cases for action in one.actions)
WAIT = f", pre-stop {WAIT_S:g} s"
"""What the cases say that wait so long before a container is stopped."""

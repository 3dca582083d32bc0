"""Two containers behind nginx or HAProxy, restarted as Docker, Kubernetes or systemd does it."""

from __future__ import annotations

from bench.plan.event import kind_of

CASES = kind_of(__file__)

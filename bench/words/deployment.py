"""A measured choice as a Compose service and as a Kubernetes Deployment, with the CPUs and memory of the run."""

from __future__ import annotations

import json
import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from bench.core.templates import environment

MEGABYTE, STEP = 1_000_000, 16
HEADROOM = 2
"""A limit of memory is this many times what the load took, since another load may take more."""
USUAL_GRACE_S = 30
"""Kubernetes' terminationGracePeriodSeconds without a setting; for servers that wait without a limit of their own."""
DRAIN_S, MARGIN_S = 3, 2
"""Seconds out of the proxy before SIGTERM (docs/deploying.md), and between the server's own limit and SIGKILL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What to deploy: the measured command with its resources. `cpus`, `memory_bytes`: None if unknown.

    `grace`: how long the server waits for requests in flight by its documentation, such as `30 s`; empty if unknown.
    """

    name: str
    command: str
    workers: str
    cpus: int | None
    memory_bytes: int | None
    path: str
    env_file: str = ""
    grace: str = ""

    @property
    def limit_mb(self) -> int | None:
        """The limit of memory in MB, a multiple of STEP."""
        if self.memory_bytes is None:
            return None
        return STEP * math.ceil(HEADROOM * self.memory_bytes / MEGABYTE / STEP)

    @property
    def grace_s(self) -> int:
        """Seconds from SIGTERM to SIGKILL."""
        known = re.match(r"(\d+) s\b", self.grace)
        own = int(known[1]) if known else 0 if "ends at once" in self.grace else USUAL_GRACE_S
        return own + MARGIN_S

    @property
    def measured(self) -> str:
        """What the resources rest on."""
        count = self.workers if self.workers.isdecimal() else "?"
        workers = "1 worker" if count == "1" else f"{count} workers"
        if self.memory_bytes is None:
            return f"measured: {workers}"
        memory = f"{self.memory_bytes / MEGABYTE:.0f} MB under load"
        return f"measured: {workers}, {memory}; the limit of memory is {HEADROOM} times that"

    @property
    def resources(self) -> dict[str, dict[str, str]]:
        """As Kubernetes has them."""
        memory = {"memory": f"{math.ceil(self.memory_bytes / MEGABYTE)}M"} if self.memory_bytes else {}
        requests = ({"cpu": str(self.cpus)} if self.cpus else {}) | memory
        return {"requests": requests, "limits": {"memory": f"{self.limit_mb}M"} if self.limit_mb else {}}

    def compose(self) -> str:
        """A service for compose.yml."""
        return self._text("compose")

    def kubernetes(self) -> str:
        """A Deployment."""
        return self._text("kubernetes")

    def _text(self, kind: str) -> str:
        template = environment(Path(__file__).parent).get_template(f"{kind}.yml.jinja")
        command = shlex.split(self.command)
        return template.render(made=self, command=command, drain_s=DRAIN_S, json=json.dumps).rstrip("\n")


def label_of(name: str) -> str:
    """A name as Compose and Kubernetes take it: lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63].strip("-") or "app"

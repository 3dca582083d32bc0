"""The documented reload, with and without kept connections, of an app that boots at once or slowly."""

from __future__ import annotations

from bench.plan.event import POOL, SWAPPED, EventCase, Kind, Question, easy
from bench.plan.event_processes import ALL_APART_S, reloaded

BOOTS_S = (0, 2, 5)
"""How long the app takes to boot, in seconds."""
BOOT_S, KEPT, NEW = "BOOT_S", "keep-alive", "new connections"
CASES = Kind(
    "the server's documented reload, with and without keep-alive, the app booting in 0, 2 and 5 s",
    "delay-50",
    tuple(
        easy(
            "reload",
            EventCase(case + (f", boot {boot} s" if boot else "")),
            40.0 + 8 * boot,
            until=SWAPPED,
            apart_s=ALL_APART_S,
            pool=POOL if case == KEPT else 0,
            environment={BOOT_S: str(boot)} if boot else {},
        )
        for boot in BOOTS_S
        for case in (KEPT, NEW)
    ),
    reloaded,
    question=Question.DEPLOY,
)

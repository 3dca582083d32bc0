"""`tool.json`: what a load tool was told to do, how it ended, and what the kernel counted meanwhile.

`loadgen/measure` collects the facts as words, since no bash writes JSON; here they become an object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def tool_object(words: Sequence[str]) -> dict[str, Any]:
    """The object for TOOL VERSION STDIN ARGC ARGV... and then a path and its value for each fact.

    The steps of a path are separated by "/". Counters stay the text that the kernel wrote.
    """
    tool, version, stdin, count, *rest = words
    argv, facts = rest[: int(count)], rest[int(count) :]
    if len(argv) != int(count) or len(facts) % 2:
        raise ValueError("a fact without a value")
    told: dict[str, Any] = {"schema": 1, "tool": tool, "tool_version": version or None, "argv": argv}
    told["stdin"] = stdin or None
    for path, value in zip(facts[::2], facts[1::2], strict=True):
        *parents, name = path.split("/")
        place = told
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = value
    for name in ("exit_status", "start_ns", "end_ns", "elapsed_ns"):
        told[name] = int(told[name])
    limits, health = told["limits"], told["health_after"]
    limits["nofile"] = None if limits["nofile"] == "unlimited" else int(limits["nofile"])
    told["health_after"] = {
        "status": int(health["status"]) or None,
        "time_s": float(health["time_s"]) if health["time_s"] else None,
        "error": health["error"] or None,
    }
    return told

"""`tool.json`: what a load tool was told to do, how it ended, and what the kernel counted meanwhile.

`loadgen/measure` collects the facts as words, since no bash writes JSON; here they become an object.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.core.errors import UserError


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
    for name in ("exit_status", "start_ns", "end_ns"):
        told[name] = int(told[name])
    limits, health = told["limits"], told["health_after"]
    limits["nofile"] = None if limits["nofile"] == "unlimited" else int(limits["nofile"])
    told["health_after"] = {
        "status": int(health["status"]) or None,
        "time_s": float(health["time_s"]) if health["time_s"] else None,
        "error": health["error"] or None,
    }
    return told


def run(argv: Sequence[str]) -> int:
    """`tool-json FILE < WORDS`: write tool.json to FILE, which has room for it, from NUL-separated words."""
    if len(argv) != 1:
        raise UserError("tool-json takes a file, and words from its standard input")
    words = sys.stdin.buffer.read().decode(errors="replace").split("\0")[:-1]
    text = json.dumps(tool_object(words), ensure_ascii=False, separators=(",", ":")) + "\n"
    # In place: on a full disk the blocks that the file has are all there is.
    with Path(argv[0]).open("r+b") as file:
        file.write(text.encode())
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    return 0

"""What scripts/profile.sh saved of a worker: its CPU time, and py-spy's samples by package."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

FRAME = re.compile(r"(?:.*;)?[^;(]*\(([^:)]*)[^)]*\) (\d+)")
WAITING = re.compile(r"(?:.*;)?(?:_worker \(concurrent|Condition\.wait \(threading)[^;]*")
"""A thread of a pool that waits for work, of Python's or of a database driver's."""


def cpu_shares(before: str, after: str, ticks_per_s: int) -> tuple[float, float]:
    """Shares of one CPU in user space and in the kernel, between two texts `NS LINE OF /proc/PID/stat`."""
    (start, *first), (end, *last) = _times(before), _times(after)
    seconds = (end - start) / 1e9
    user, kernel = ((b - a) / ticks_per_s / seconds for a, b in zip(first, last, strict=True))
    return user, kernel


def _times(text: str) -> tuple[int, int, int]:
    fields = text.rpartition(")")[2].split()
    return int(text.split(maxsplit=1)[0]), int(fields[11]), int(fields[12])


def package_shares(stacks: str) -> Mapping[str, float]:
    """Shares of the samples by the package of the innermost frame in collapsed stacks, the largest first."""
    counts: Counter[str] = Counter()
    for line in stacks.splitlines():
        found = FRAME.fullmatch(line)
        if not WAITING.fullmatch(line):
            counts[found[1].partition("/")[0] if found else "unknown"] += int(line.rpartition(" ")[2])
    return {name: count / counts.total() for name, count in counts.most_common()}

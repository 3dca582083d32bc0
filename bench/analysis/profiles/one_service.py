"""What scripts/profile.sh saved of a service: the CPU time of a worker, and py-spy's samples by package."""

from __future__ import annotations

from collections.abc import Mapping

from bench.analysis.profiles.stacks import package_counts, parse_stacks


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
    counts = package_counts(parse_stacks(stacks))
    return {name: count / counts.total() for name, count in counts.most_common()}

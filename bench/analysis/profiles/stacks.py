"""Sampled stacks in py-spy's raw format (`--format raw`): a line has the frames, outermost first, and a count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_FRAME = re.compile(r"(?P<name>.*) \((?P<file>[^()]*?)(?::\d+)?\)")
"""`name (file:line)`; a process is a frame too, but has no file and is left out."""
_LIBRARY = re.compile(r".*/(?:site-packages|dist-packages|lib/python3\.\d+t?)/")
NO_PYTHON = "(no Python code)"
"""A thread that runs no Python code."""


@dataclass(frozen=True, slots=True)
class Function:
    """Where a sample was taken; `file` is relative to the folder that it was imported from."""

    file: str
    name: str

    @property
    def label(self) -> str:
        """`app.py:burn`."""
        return f"{self.file}:{self.name}" if self.file else self.name

    @property
    def package(self) -> str:
        """The package that was imported, or a module outside of packages."""
        return self.file.partition("/")[0] or NO_PYTHON


Stack = tuple[Function, ...]
"""From the outermost function to the innermost."""


def parse_stacks(text: str) -> Counter[Stack]:
    """Samples by stack, regardless of line numbers; malformed lines are left out."""
    stacks: Counter[Stack] = Counter()
    for line in text.splitlines():
        frames, _, count = line.rpartition(" ")
        if frames and count.isascii() and count.isdigit():
            matches = map(_FRAME.fullmatch, frames.split(";"))
            stack = (Function(_LIBRARY.sub("", match["file"]).lstrip("/"), match["name"]) for match in matches if match)
            stacks[tuple(stack)] += int(count)
    return stacks


def innermost_counts(stacks: Mapping[Stack, int], part: Literal["label", "package"]) -> Counter[str]:
    """Samples by innermost function, or by the package of it."""
    samples: Counter[str] = Counter()
    for stack, count in stacks.items():
        samples[getattr(stack[-1], part) if stack else NO_PYTHON] += count
    return samples


def worker_cpu_shares(before: str, after: str, ticks_per_s: int) -> tuple[float, float]:
    """(user, kernel) as shares of one CPU, between two texts `NS LINE OF /proc/PID/stat`."""
    (start, *first), (end, *last) = _times(before), _times(after)
    seconds = (end - start) / 1e9
    user, kernel = ((b - a) / ticks_per_s / seconds for a, b in zip(first, last, strict=True))
    return user, kernel


def _times(text: str) -> tuple[int, int, int]:
    fields = text.rpartition(")")[2].split()
    return int(text.split(maxsplit=1)[0]), int(fields[11]), int(fields[12])


def package_shares(stacks: str) -> Mapping[str, float]:
    """Shares of samples by the package of the innermost frame in collapsed stacks, the largest first."""
    counts = innermost_counts(parse_stacks(stacks), "package")
    return {name: count / counts.total() for name, count in counts.most_common()}

"""What scripts/profile.sh saved of services under load, and in process, as windows of framework_costs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from bench.analysis.profiles.framework_costs import Group, Window
from bench.core.errors import UserError
from bench.parse import wrk

CALLS = "in-process"
OTHER_LENGTH = 0.1
"""Bodies that are shorter or longer than the bare app's by more than this are another response."""


def file_of(route: str) -> str:
    """The start of the names of a route's files: `raw-queries-20` of `/raw/queries/20`."""
    return route.lstrip("/").replace("/", "-")


def under_server(folder: Path, services: Sequence[str], routes: Sequence[str]) -> Iterator[Window]:
    """Windows from SERVICE/ROUTE.ROUND.{wrk,before,after}."""
    named = {file_of(route): route for route in routes}
    for service in services:
        for output in sorted((folder / service).glob("*.wrk")):
            name, round_, _ = output.name.rsplit(".", 2)
            if name not in named:
                continue
            parsed = wrk.parse(output.read_bytes())
            before, after = (_cpu_ns(output.with_suffix(f".{end}")) for end in ("before", "after"))
            answered = parsed.ok if parsed.ok == parsed.requests else None
            yield Window(service, named[name], int(round_), (after - before) / answered if answered else None)


def _cpu_ns(path: Path) -> int:
    pairs = (line.split(maxsplit=1) for line in path.read_text().splitlines())
    for name, *value in pairs:
        if name == "cpu_usage_ns":
            return int(value[0])
    raise UserError(f"there is no CPU time in {path}: the container's cgroup cannot be read on this host")


@dataclass(frozen=True, slots=True)
class Calls:
    """A path's calls in a pass of scripts/profile/in_process.py; `path` is None for the app that does nothing."""

    path: str | None
    requests: int
    wrong: int
    cpu_ns: int
    body_bytes: int
    content_type: str

    @property
    def each_ns(self) -> float:
        """CPU time per request, with that of calling."""
        return self.cpu_ns / self.requests if self.requests else inf

    def like(self, bare: Calls) -> bool:
        """Whether these are answers, of the same media type and about the same length as the bare app's."""
        if self.wrong or not self.requests or not bare.requests:
            return False
        own, other = (calls.body_bytes / calls.requests for calls in (self, bare))
        types = [calls.content_type.partition(";")[0].strip().lower() for calls in (self, bare)]
        return types[0] == types[1] and abs(own - other) <= OTHER_LENGTH * other


def in_process(folder: Path, groups: Sequence[Group], routes: Sequence[str]) -> Iterator[Window]:
    """Windows from SERVICE/ROUND.in-process: the cheapest pass, without the CPU time that calling costs by itself.

    What else the machine does can only add to the CPU time of a pass, and does for a second or more at a time.
    """
    for group in groups:
        for service in group.services:
            for file in sorted((folder / service).glob(f"*.{CALLS}")):
                own = _calls(file)
                bare = _calls(folder / (group.bare or service) / file.name)
                for route in routes:
                    if route in own:
                        right = route in bare and own[route].like(bare[route])
                        cost = own[route].each_ns - own[None].each_ns if right else None
                        yield Window(service, route, int(file.stem), cost)


def _calls(file: Path) -> Mapping[str | None, Calls]:
    if not file.exists():
        return {}
    lines: list[dict[str, Any]] = [json.loads(line) for line in file.read_text().splitlines()]
    passes: dict[str | None, list[Calls]] = defaultdict(list)
    for line in lines:
        passes[line["path"]].append(Calls(**line))
    # A wrong answer in any pass counts.
    return {
        path: replace(min(each, key=lambda calls: calls.each_ns), wrong=sum(calls.wrong for calls in each))
        for path, each in passes.items()
    }

"""The flame graphs of the page: the sampled stacks of each service as a tree of functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.analysis.profiles.sampled import Profile
from bench.analysis.profiles.stacks import UNKNOWN, Stack

LEAST_SHARE = 0.001
"""Functions with a smaller share of the samples, with what they call, are too narrow to be seen."""
DEEPEST = 200


def flames_of(profiles: Iterable[Profile]) -> list[dict[str, Any]]:
    """What the page's scripts draw, in the order of the tables; services that were not sampled have none."""
    return [
        {
            "service": one.service,
            "load": " ".join(one.table),
            "cost_us": one.cost_us,
            "tree": tree_of(one.stacks),
        }
        for one in profiles
        if not one.missing
    ]


def tree_of(stacks: Mapping[Stack, int]) -> dict[str, Any]:
    """Nodes {n: name, v: samples with what it calls, c: children}, the root for all samples."""
    total = sum(stacks.values())
    paths = [([one.label for one in stack[:DEEPEST]] or [UNKNOWN], count) for stack, count in stacks.items()]
    return _node("all samples", paths, LEAST_SHARE * total)


def _node(name: str, paths: list[tuple[list[str], int]], least: float) -> dict[str, Any]:
    below: dict[str, list[tuple[list[str], int]]] = {}
    for path, count in paths:
        if path:
            below.setdefault(path[0], []).append((path[1:], count))
    wide = {name: those for name, those in below.items() if sum(count for _, count in those) >= least}
    node: dict[str, Any] = {"n": name, "v": sum(count for _, count in paths)}
    if wide:
        node["c"] = [_node(label, wide[label], least) for label in sorted(wide)]
    return node

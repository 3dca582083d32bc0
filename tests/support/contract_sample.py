"""Draws the services that are verified on every change: contract_sample.py SEED prints them, space-separated.

On the default Python, every server and every framework in as few services as possible; on every other Python, one
service. The seed decides which.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.matrix.load import load_matrix
from bench.matrix.model import Service


def sample(seed: str) -> list[Service]:
    matrix = load_matrix()
    chosen: list[Service] = []
    for python in matrix.pythons:
        here = [s for s in matrix.services if (s.python, s.base) == (python, matrix.default_base) and not s.skip]
        if python == matrix.default_python:
            chosen += _each_once(here, seed)
        elif here:
            chosen.append(_drawn(here, seed, python))
    return chosen


def _each_once(services: Sequence[Service], seed: str) -> list[Service]:
    """Each framework, if possible on a server of its own; then each remaining server with a bare app."""
    on: dict[str, list[Service]] = {}
    of: dict[str, list[Service]] = {}
    for service in services:
        on.setdefault(service.framework.name, []).append(service)
        of.setdefault(service.server.name, []).append(service)
    chosen: list[Service] = []
    # Frameworks with few servers choose first: the others have more choice.
    for name in sorted(on, key=lambda name: len(on[name])):
        taken = {service.server.name for service in chosen}
        chosen.append(_drawn([s for s in on[name] if s.server.name not in taken] or on[name], seed, name))
    for name in of.keys() - {service.server.name for service in chosen}:
        bare = [service for service in of[name] if service.framework.name == service.interface]
        chosen.append(_drawn(bare or of[name], seed, name))
    return sorted(chosen, key=services.index)


def _drawn(services: Sequence[Service], seed: str, name: str) -> Service:
    """One of them, depending only on seed and name, so that a new framework changes little of the sample."""
    return random.Random(f"{seed} {name}").choice(services)


if __name__ == "__main__":
    print(*(service.name for service in sample(sys.argv[1])))

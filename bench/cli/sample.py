"""`sample`: the services that the project's tests verify."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bench.core.errors import UserError
from bench.matrix.load import load_matrix
from bench.matrix.service import Service


def sample_verb(argv: Sequence[str]) -> int:
    """`sample SEED`: print services that are worth verifying on every change, space-separated.

    On the default Python: every server and every framework, in as few services as possible. On each other Python: one
    service. The seed decides which.
    """
    if len(argv) != 1:
        raise UserError("usage: python3 -m bench sample SEED")
    matrix = load_matrix()
    chosen: list[Service] = []
    for python in matrix.pythons:
        here = [s for s in matrix.services if (s.python, s.base) == (python, matrix.default_base) and not s.skip]
        if python == matrix.default_python:
            chosen += _each_once(here, argv[0])
        elif here:
            chosen.append(_drawn(here, argv[0], python))
    print(*(service.name for service in chosen))
    return 0


def _each_once(services: Sequence[Service], seed: str) -> list[Service]:
    """Each framework, on a server that no other one has; then the bare app of each server that is left."""
    on: dict[str, list[Service]] = {}
    of: dict[str, list[Service]] = {}
    for service in services:
        on.setdefault(service.framework.name, []).append(service)
        of.setdefault(service.server.name, []).append(service)
    chosen: list[Service] = []
    # Those with the fewest servers first: the others find one more easily.
    for name in sorted(on, key=lambda name: len(on[name])):
        taken = {service.server.name for service in chosen}
        chosen.append(_drawn([s for s in on[name] if s.server.name not in taken] or on[name], seed, name))
    for name in of.keys() - {service.server.name for service in chosen}:
        bare = [service for service in of[name] if service.framework.name == service.interface]
        chosen.append(_drawn(bare or of[name], seed, name))
    return sorted(chosen, key=services.index)


def _drawn(services: Sequence[Service], seed: str, name: str) -> Service:
    """One of them. Other names have no part in it, so that a new framework leaves most of the sample as it was."""
    return random.Random(f"{seed} {name}").choice(services)

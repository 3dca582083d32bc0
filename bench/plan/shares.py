"""The share of each of several load generators in a measurement.

A level is that of the cell: its connections and its rate are divided.
"""

from __future__ import annotations

from dataclasses import replace

from bench.plan.measurement import Measurement


def shares(planned: Measurement) -> tuple[Measurement, ...]:
    """The measurement of each load generator, in a folder of its own; one alone makes the whole."""
    number = planned.loadgens
    if number == 1:
        return (planned,)
    connections = _divided(planned.connections, number)
    rates = _divided(None if planned.rate is None else int(planned.rate), number)
    return tuple(
        replace(
            planned,
            loadgens=1,
            connections=own,
            rate=rate,
            threads=_threads(own, planned.threads),
            dir=f"{planned.dir}/{folder_of(client)}",
        )
        for client, (own, rate) in enumerate(zip(connections, rates, strict=True), 1)
    )


def folder_of(client: int) -> str:
    """Where a load generator's files are, in the measurement's folder; they count from 1."""
    return f"client-{client}"


def _divided(total: int | None, number: int) -> list[int | None]:
    """Evenly; the first ones get what is left over."""
    if total is None:
        return [None] * number
    each, left = divmod(total, number)
    return [each + (index < left) for index in range(number)]


def _threads(connections: int | None, most: int) -> int:
    """The most threads that divide the connections: wrk drops what is left over."""
    return max(count for count in range(1, most + 1) if (connections or 1) % count == 0)

"""Settings as an axis: every service of a selection with every combination of the values of its knobs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.core.errors import UserError
from bench.matrix.knobs import CPU_QUOTA, MOST_VALUES, Knob, Reads, parse_knob, varied
from bench.matrix.model import Matrix, Preset, Service
from bench.plan.cpus import parse_list
from bench.plan.selection import Selection

MORE_CPUS = ("WORKERS", "THREADS")
"""Knobs by which a service may use more of the CPUs that it has."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A knob; `optional`: services that do not read it are measured without, and not left out."""

    knob: Knob
    optional: bool = False


def knobs_of(preset: Preset, wanted: Selection) -> list[Wanted]:
    """Those of the command line, else the preset's; UserError where they do not go together."""
    if wanted.vary:
        found = [Wanted(knob) for knob in wanted.vary]
    else:
        found = [Wanted(parse_knob(text)) for text in preset.vary]
        found += [Wanted(parse_knob(text), optional=True) for text in preset.vary_if_read]
    names = [one.knob.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"--vary {twice} is given twice; give one list of its values")
    combinations = 1
    for one in found:
        combinations *= len(one.knob.values)
    if combinations > MOST_VALUES:
        raise UserError(f"--vary makes {combinations} combinations of each service, and at most {MOST_VALUES} are made")
    return found


def vary(matrix: Matrix, services: Sequence[Service], wanted: Sequence[Wanted], reads: Reads) -> Iterator[Service]:
    """The services with every combination of values, or the cause in `skip`; UserError for a knob that none reads."""
    running = [service for service in services if not service.skip]
    for knob in (one.knob.name for one in wanted if running and not one.optional):
        if all(reads(service, knob) for service in running):
            others = sorted({s.server.name for s in matrix.services if not reads(s, knob)})
            by = f"those that do: {', '.join(others)}" if others else "nor does any other of the matrix"
            raise UserError(f"--vary {knob}: no server of the selection reads it; {by}")
    for service in services:
        causes = {one.knob.name: reads(service, one.knob.name) for one in wanted}
        missing = [cause for one in wanted if not one.optional and (cause := causes[one.knob.name])]
        if missing or service.skip:
            yield replace(service, skip=service.skip or missing[0])
            continue
        axes = [[(one.knob.name, value) for value in one.knob.values] for one in wanted if not causes[one.knob.name]]
        yield from (varied(service, settings) if settings else service for settings in itertools.product(*axes))


def several_cpus(settings: Mapping[str, str]) -> bool:
    """Whether a service has more than one CPU."""
    return len(parse_list(settings.get("SERVER_CPUS") or "0")) > 1


def varies_capacity(services: Iterable[Service], several_cpus: bool) -> bool:
    """Whether services differ in how much of the CPUs they may use."""
    knobs = (CPU_QUOTA, *(MORE_CPUS if several_cpus else ()))
    every = [dict(service.settings) for service in services]
    return any(len({settings.get(knob) for settings in every}) > 1 for knob in knobs)

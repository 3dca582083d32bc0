"""What the server's CPUs mean for services whose workers, threads or CPU quota are varied, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.analysis.coordinates import Places
from bench.core.formats import plural
from bench.matrix.knobs import CPU_QUOTA
from bench.plan.cpus import parse_list
from bench.plan.measurement import settings_of


def limits_words(places: Places, services: Sequence[str], knobs: Mapping[str, Any]) -> Iterator[str]:
    """What the CPUs of the server allow, where services of a table differ in what could use more of them."""
    every = [settings_of(places[name].settings) for name in services if name in places]
    try:
        cpus = len(parse_list(str(knobs.get("SERVER_CPUS"))))
    except ValueError:
        return
    if cpus == 1 and any(len({own.get(knob) for own in every}) > 1 for knob in ("WORKERS", "THREADS")):
        yield (
            "The server has one CPU here, which all workers and threads of a service share: more of them can help where"
            " requests wait, and cannot show what they would do on more CPUs."
        )
    quotas = [float(own[CPU_QUOTA]) for own in every if CPU_QUOTA in own]
    if any(quota >= cpus for quota in quotas):
        yield f"The server has {plural(cpus, 'CPU')} here: a quota of as much or more limits nothing."

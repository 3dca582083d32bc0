"""What CPUs and quotas mean for services whose workers, threads or CPU quota are varied, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from bench.analysis.words.conclusions import Coordinates
from bench.core.formats import number
from bench.matrix.knobs import CPU_QUOTA
from bench.plan.cpus import parse_list
from bench.plan.measurement import settings_of
from bench.records.record import Record


def limits_words(places: Mapping[str, Coordinates], services: Sequence[str], knobs: Mapping[str, Any]) -> Iterator[str]:
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
        shown = "1 CPU" if cpus == 1 else f"{cpus} CPUs"
        yield f"The server has {shown} here: a quota of as much or more limits nothing."


def throttled_words(records: Iterable[Record]) -> Iterator[str]:
    """How long the kernel throttled a service with a CPU quota."""
    own = [record for record in records if CPU_QUOTA in settings_of(record.settings)]
    spans = [record.throttled_s for record in own if record.throttled_s is not None]
    if spans:
        yield f"throttled for {number(fmean(spans))} s a round" if any(spans) else "never throttled"
    elif own:
        yield f"throttling unknown: {own[0].nulls['throttled_s']}"

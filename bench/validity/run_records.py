"""The judged records of a run: each is judged by the measurement rules first, then all by the run rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from bench.plan.interim_looks import RATED
from bench.plan.measurement import Measurement
from bench.records.make import as_loaded, evidence_of, make_record
from bench.records.record import Record
from bench.run.reader import Raw, Run, ServiceFacts, read_raw
from bench.validity.measurement_rules import causes_of
from bench.validity.run_rules import apply_run_rules

Seen = Callable[[Raw], object]
"""Called with the raw files of each measurement, so that they are read only once."""

_NOT_KNOWN = ("image_id", "base_label", "python_build", "packages_file", "packages_sha256")
_MISSING = dict.fromkeys(_NOT_KNOWN, "the null server has no Python")
NULL_FACTS = ServiceFacts(name="null", missing=_MISSING, idle={"null": "the null server is a control"})


def service_names(source: Run) -> list[str]:
    """The services of a run: those in run.json, in its order, then those that are only in the plan."""
    listed = [name for name in source.facts.services if "/" not in name and name != ".."]
    named = [*listed, *(planned.service for planned in source.planned if planned.mode != "null")]
    return list(dict.fromkeys(named))


def reviewed(source: Run, services: Mapping[str, ServiceFacts], seen: Seen | None = None) -> list[Record]:
    """The records of a run after all validity rules."""
    return apply_run_rules(build_records(source, services, seen), source.facts)


def build_records(source: Run, services: Mapping[str, ServiceFacts], seen: Seen | None = None) -> Iterator[Record]:
    """A record for each planned measurement, in the order of the plan, judged only by the measurement rules.

    There is no record for events, which have another type (bench/records/make_event.py), nor for measurements of
    tables that never started, because a table ends once it has verdicts; the same goes for the null server's
    measurements that only serve tables.
    """
    made, solo_rounds = source.facts.harness, source.facts.rounds or 0
    harness = f"{made.version or 'unknown'} {made.hash[:12]}".strip()
    for planned in source.planned:
        if planned.event:
            continue
        raw = read_raw(source.path, planned)
        service = services.get(planned.service) or NULL_FACTS
        if not raw.started and _is_spare(planned, solo_rounds):
            continue
        if seen is not None:
            seen(raw)
        yield judged_record(planned, raw, service, harness, source.settings_sha256)


def _is_spare(planned: Measurement, solo_rounds: int) -> bool:
    """Whether the measurement only serves verdicts still missing, so that it needs no record if it never started."""
    spare_from = {"turns": 2, "rate": RATED.start + 1, "null": solo_rounds + 1}
    return planned.round >= spare_from.get(planned.mode, planned.round + 1)


def judged_record(
    planned: Measurement, raw: Raw, service: ServiceFacts, harness: str = "", settings_sha256: str = ""
) -> Record:
    """The record of one measurement, judged only by the measurement rules."""
    loaded, no_rate = as_loaded(planned, raw)
    evidence = evidence_of(loaded, raw, service, no_rate)
    causes = causes_of(evidence)
    return make_record(evidence, raw, service, causes, harness=harness, settings_sha256=settings_sha256)

"""The facts of a run that a comparison needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.core.files import as_json, mapping, read_bytes
from bench.records.record import BadRecord, Record, load
from bench.run.node_kinds import node_kinds
from bench.run.reader import ServiceFacts, read_run, read_service
from bench.validity.run_records import reviewed, service_names


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """run.json, the plan's lines, the records and the facts of each service."""

    run: Mapping[str, Any]
    plan: Sequence[Mapping[str, Any]]
    records: Sequence[Record]
    services: Mapping[str, ServiceFacts]
    changed: tuple[str, ...] = ()
    """Files of the plan whose content no longer matches run.json."""
    node_kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of node of each role, of a run on several machines."""


def read_facts(path: str) -> RunFacts:
    """The facts of a results folder, from records.jsonl if it can be read, else from the raw files."""
    source = read_run(path)
    services = {name: read_service(path, name) for name in service_names(source)}
    plan = read_bytes(f"{path}/plan.jsonl") or b""
    return RunFacts(
        run=source.facts,
        plan=[mapping(as_json(line)) for line in plan.splitlines() if line.strip()],
        records=_records(path) or reviewed(source, services),
        services=services,
        changed=source.changed,
        node_kinds=node_kinds(path),
    )


def _records(path: str) -> list[Record]:
    data = read_bytes(f"{path}/records.jsonl")
    try:
        return list(load((data or b"").decode("utf-8", "replace").split("\n")))
    except BadRecord:
        return []

"""The facts of a run that a comparison needs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.core.files import mapping, read_bytes
from bench.records.record import BadRecord, Record, load
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


def read_facts(path: str) -> RunFacts:
    """The facts of a results folder, from records.jsonl if it can be read, else from the raw files."""
    source = read_run(path)
    services = {name: read_service(path, name) for name in service_names(source)}
    plan = read_bytes(f"{path}/plan.jsonl") or b""
    return RunFacts(
        run=source.facts,
        plan=[mapping(_json(line)) for line in plan.splitlines() if line.strip()],
        records=_records(path) or reviewed(source, services),
        services=services,
        changed=tuple(_changed(path, mapping(source.facts.get("sha256")))),
    )


def _records(path: str) -> list[Record]:
    data = read_bytes(f"{path}/records.jsonl")
    try:
        return list(load((data or b"").decode("utf-8", "replace").splitlines()))
    except BadRecord:
        return []


def _changed(path: str, hashes: Mapping[str, Any]) -> Iterator[str]:
    for name, wanted in hashes.items():
        data = read_bytes(os.path.join(path, os.path.basename(name)))
        if data is None or hashlib.sha256(data).hexdigest() != wanted:
            yield name


def _json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None

"""The files that a run's folder begins with: run.json, plan.jsonl, services.yml, services.sh, knobs.env."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.core.files import write_file
from bench.matrix.compose import run_services
from bench.matrix.model import Matrix, Service
from bench.plan.cells import Plan
from bench.run.provenance import provenance
from bench.run.services_file import services_file


def write_run(
    folder: Path,
    the_matrix: Matrix,
    services: Iterable[Service],
    lines: Sequence[Mapping[str, Any]],
    facts: Mapping[str, Any],
) -> None:
    """The plan's files; run.json comes last, so that a folder with it is whole, and names the others' content."""
    asked = any("pair" in line and line["database"] for line in lines)
    write_file(folder / "services.yml", run_services(the_matrix, services, second_database=asked))
    limits = {"MAX_TIME_S": f"{facts['max_time_s']:.0f}"} if facts.get("max_time_s") else {}
    write_file(folder / "knobs.env", "".join(f"{k}={v}\n" for k, v in (facts["knobs"] | limits).items()))
    write_file(folder / "plan.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    write_file(folder / "services.sh", services_file(facts["services"], second_database=asked))
    names = ("services.yml", "knobs.env", "plan.jsonl")
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    write_file(folder / "run.json", json.dumps({**facts, "sha256": hashes}, indent=1) + "\n")


def run_facts(
    name: str, the_plan: Plan, knobs: Mapping[str, str], seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    """What run.json says of a planned run, without its services."""
    return {
        "schema": 1,
        "run": name,
        "preset": the_plan.preset.name,
        "title": the_plan.preset.title,
        "published": the_plan.preset.published,
        "tables": list(the_plan.preset.tables),
        "mode": the_plan.preset.mode,
        "rounds": the_plan.solo_rounds,
        "duet_rounds": the_plan.duet_rounds,
        "max_time_s": options.max_time,
        "seed": seed,
        "command": options.command_line,
        "knobs": dict(knobs),
        **provenance(),
        "pairs": [
            {"name": p.name, "a": p.a.service.name, "b": p.b.service.name, "scenario": p.a.scenario}
            | {"tool": p.a.tool, "level": p.a.level.name, "waits": p.a.route.waits}
            for p in the_plan.pairs
        ],
        "skipped": [
            {"service": s.service, "scenario": s.scenario, "tool": s.tool, "cause": s.cause} for s in the_plan.skips
        ],
    }


def routes_to_verify(the_plan: Plan) -> dict[str, list[str]]:
    """The routes that are verified, by service: those of its cells; the contract does not know what self-tests ask."""
    needed: dict[str, dict[str, None]] = {}
    for cell in the_plan.cells:
        needed.setdefault(cell.service.name, {})["json" if cell.route.selftest else cell.route.name] = None
    return {name: list(routes) for name, routes in needed.items()}


def service_facts(
    the_matrix: Matrix,
    knobs: Mapping[str, str],
    services: Iterable[Service],
    routes: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, Any]]:
    """What run.json says of each service, with the routes that are verified."""
    return {
        s.name: {
            "stack": s.stack,
            "server": s.server.name,
            "framework": s.framework.name,
            "interface": s.interface,
            "python": s.python,
            "base": s.base,
            "base_image": the_matrix.base_image(s, knobs),
            "package": s.package,
            "concurrent": s.server.concurrent,
            "image": s.image,
            "routes": list(routes[s.name]),
        }
        for s in services
    }

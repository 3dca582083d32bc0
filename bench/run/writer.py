"""Writes the files of a planned run: run.json, plan.jsonl, services.yml, knobs.env, sources.json."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.core.formats import joined
from bench.core.typed import as_plain
from bench.exchange import unusual_kinds
from bench.matrix.compose import KNOBS, environment_of, run_services
from bench.matrix.flags import flag_words
from bench.matrix.knobs import THREADS, started_with
from bench.matrix.model import Matrix, Service, python_label
from bench.matrix.packages import FOLDER as PACKAGES
from bench.matrix.packages import asked, locked, normalised, pins_in
from bench.matrix.start_script import start_words
from bench.own_app.app import LOCKS
from bench.plan.cells import Plan
from bench.plan.interim_looks import table_looks
from bench.plan.measurement import Measurement
from bench.run.provenance import provenance
from bench.run.raw_files import ABOUT_RAW, README
from bench.run.reader import COMMAND, SOURCES


def write_run(
    folder: Path, matrix: Matrix, services: Iterable[Service], planned: Sequence[Measurement], facts: Mapping[str, Any]
) -> None:
    """Write the files. run.json, with the hashes of the others, comes last: a folder that has it is complete."""
    ours = [service for service in services if not service.url]
    services = [replace(one, wheel=one.wheel and f"{folder}/{PACKAGES}/{one.wheel}") for one in ours]
    write_file(folder / "services.yml", run_services(matrix, services, locks=f"{folder}/{LOCKS}"))
    limits = {"MAX_TIME_S": f"{facts['max_time_s']:.0f}"} if facts.get("max_time_s") else {}
    limits |= {"PROFILE_TABLES": "yes"} if facts.get("profile") else {}
    write_file(folder / "knobs.env", "".join(f"{k}={v}\n" for k, v in (facts["knobs"] | limits).items()))
    write_file(folder / "plan.jsonl", "".join(f"{one.to_line()}\n" for one in planned))
    write_file(folder / SOURCES, json.dumps(sources_of(services), indent=1) + "\n")
    (folder / README).parent.mkdir(exist_ok=True)
    for service in services:
        place = folder / "raw/services" / service.name
        place.mkdir(parents=True, exist_ok=True)
        command = start_command(service, facts["knobs"])
        write_file(place / COMMAND, json.dumps(command, ensure_ascii=False) + "\n")
    write_file(folder / README, ABOUT_RAW)
    names = ("services.yml", "knobs.env", "plan.jsonl", SOURCES)
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    write_file(folder / "run.json", json.dumps({**facts, "sha256": hashes}, indent=1) + "\n")


def run_facts(
    name: str, plan: Plan, settings: Mapping[str, str], seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    """The content of run.json for a planned run, without its services."""
    with_defaults = plan.events or any(service.framework.own for service in plan.services)
    return {
        "schema": 1,
        "run": name,
        "preset": plan.preset.name,
        "title": plan.preset.title,
        "published": plan.preset.published,
        "mode": plan.preset.mode,
        "rounds": max(plan.solo_rounds, plan.event_rounds),
        "max_time_s": options.max_time,
        **({"profile": True} if options.profile else {}),
        "seed": seed,
        "command": options.command_line,
        "knobs": dict(settings),
        **provenance(),
        "tables_in_turns": [
            {"scenario": t.first.scenario, "tool": t.first.tool, "level": t.first.level.text, "waits": t.waits}
            | {"services": [cell.service.name for cell in t.cells], "rounds": plan.turn_rounds}
            | {"looks": list(table_looks(plan.turn_rounds))}
            | ({"shares": [level.text for level in t.shares]} if t.shares else {})
            for t in plan.tables
        ],
        "waits": {cell.scenario: as_plain(wait) for cell in plan.cells if (wait := cell.exchange.wait)},
        **({"kinds": kinds} if (kinds := unusual_kinds((c.scenario, c.exchange) for c in plan.cells)) else {}),
        "skipped": as_plain(plan.skips),
        **({"pairs": [list(pair) for pair in plan.pairs]} if plan.pairs else {}),
        **({"refs": plan.refs} if plan.refs else {}),
        **({"defaults": defaults_facts(plan.services, settings)} if with_defaults else {}),
    }


def defaults_facts(services: Iterable[Service], settings: Mapping[str, str]) -> dict[str, dict[str, dict[str, Any]]]:
    """For each service, its server's documented defaults that decide what a deploy loses, and what was given."""
    return {
        s.name: {
            kind: {"value": default.value, "source": default.source, "given": started_with(s, kind.upper(), settings)}
            for kind, default in s.server.defaults.items()
        }
        for s in services
        if s.server.defaults and not s.framework.selftest
    }


def routes_to_verify(plan: Plan) -> dict[str, list[str]]:
    """The routes to verify for each service: those of its cells. Self-test routes are not part of the contract."""
    needed: dict[str, dict[str, None]] = {}
    for cell in plan.cells:
        needed.setdefault(cell.service.name, {})["json" if cell.route.selftest else cell.route.name] = None
    return {name: list(routes) for name, routes in needed.items()}


def service_facts(
    matrix: Matrix,
    settings: Mapping[str, str],
    services: Iterable[Service],
    routes: Mapping[str, Sequence[str]],
    own_locks: Mapping[str, Path] | None = None,
) -> dict[str, dict[str, Any]]:
    """The entry of each service in run.json, with the routes to verify.

    `own_locks`: the folder with the locks of a user's own app, by `OwnBuild.lock_suffix`.
    """
    return {
        s.name: _running(s)
        if s.url
        else {
            "stack": s.stack,
            "server": s.server.name,
            "framework": s.framework.name,
            "interface": s.interface,
            "python": s.python,
            "base": s.base,
            "base_image": matrix.base_image(s, settings),
            "package": s.package,
            "settings": s.settings.json,
            "concurrent": s.concurrent,
            "image": s.image,
            "routes": list(routes[s.name]),
            **source_paths(s),
            **({"development": s.server.development} if s.server.development else {}),
            **_notes(s, settings, own_locks or {}),
            **({"model": s.server.model, "built_as": s.built_as, "asks_for": asked(s)} if s.framework.own else {}),
        }
        for s in services
    }


_ELSEWHERE = ("documented", "command", "lacks")


def _notes(service: Service, settings: Mapping[str, str], own_locks: Mapping[str, Path]) -> dict[str, Any]:
    """Notes on the service's server; how to start it elsewhere only for a user's own app."""
    if (notes := service.server.notes) is None:
        return {}
    texts = {name: text for name, text in asdict(notes).items() if service.framework.own or name not in _ELSEWHERE}
    if own := service.framework.own:
        texts["sets"] = joined([*filter(None, (texts["sets"], *_of_app(service, own_locks.get(own.lock_suffix))))])
    several, _ = texts.pop("stall_of_several"), texts.pop("deflate")
    texts["stall"] += several if started_with(service, "WORKERS", settings) not in (None, "1") else ""
    return {"notes": {name: text for name, text in texts.items() if text}}


def _of_app(service: Service, locks: Path | None) -> Iterator[str]:
    """The server's packages in another version than elsewhere, because the app requires it."""
    if locks is None or service.package:
        return
    here, usual = dict(pins_in(locks / python_label(service.python) / "requirements.txt")), locked()(service)
    for wanted in asked(service):
        name = normalised(re.split(r"[^\w.-]", wanted, maxsplit=1)[0])
        if name in here and here[name] != usual.get(name, here[name]):
            yield f"{name} {here[name]}, which the app requires instead of {usual[name]}"


def _running(service: Service) -> dict[str, Any]:
    """The entry of a server that is already running. `owned`: whether the user states that they own it."""
    names = {"stack": service.stack, "server": service.server.name, "framework": service.framework.name}
    made = {"python": service.python, "base": service.base, "package": None, "settings": None}
    return names | made | {"url": service.url, "owned": service.owned, "model": service.server.model}


def start_command(service: Service, settings: Mapping[str, str]) -> dict[str, Any]:
    """How its container starts the server: `argv`, and the `environment` that it may read; or why it is `missing`."""
    known = environment_of(service, settings)
    try:
        script = Path(source_paths(service)["start"]).read_text(encoding="utf-8")
        argv = start_words(script, known, flag_words(service.settings))
    except (OSError, UserError, ValueError, ZeroDivisionError) as error:
        # That of a ref may be anybody's: what its text does not tell ends no run.
        return {"missing": f"its start script: {error}"}
    names = dict.fromkeys(["PORT", *KNOBS, THREADS, *service.settings])
    return {"argv": argv, "environment": {name: known[name] for name in names if name in known}}


def sources_of(services: Iterable[Service]) -> dict[str, str]:
    """The text of each service's start script and app, by path. A user's own app is not copied."""
    paths: dict[Path, None] = {}
    for service in services:
        paths |= dict.fromkeys(Path(path) for path in source_paths(service).values())
        if not service.framework.own:
            app = Path(source_paths(service)["app"])
            paths |= dict.fromkeys(sorted(app.parent.rglob("*.py")))
    return {str(path): path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def source_paths(service: Service) -> dict[str, str]:
    """The paths of the service's start script and app."""
    top = service.context or "services"
    found = {"start": f"{top}/servers/{service.server.name}/start"}
    own = service.framework.own
    return found if own else found | {"app": f"{top}/frameworks/{service.framework.folder}/app.py"}

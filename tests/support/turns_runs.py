"""Synthetic runs of tables in turns, as records with known speeds."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from make_plans import MATRIX
from make_run import entry, looks_of, write_run

from bench.analysis.findings import findings_of
from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.ranking import Ranking
from bench.matrix.start_command import START, StartCommand
from bench.records.record import ERROR_KINDS, FIGURES, LATENCIES, Cause, Record
from bench.render.report import Report
from bench.run.facts import RunFacts, run_facts_of
from bench.run.reader import ServiceFacts, read_run, read_service
from bench.tools.levels import Level
from bench.words.conclusions import RankingText, describe_rankings

TURN_S = 4.0
LATENCY = "measured in turns: the tool was stopped between turns, so its latencies are not the service's"


def service_of(stack: str, **place: Any) -> str:
    return str(entry(stack, **place)["service"])


def table(
    services: Iterable[str], rounds: int = 12, scenario: str = "json", level: str = "c16", waits: bool = False
) -> dict[str, Any]:
    cell = {"scenario": scenario, "tool": "wrk", "level": level, "waits": waits}
    return cell | {"services": list(services), "rounds": rounds, "looks": looks_of(rounds)}


def facts_of(*tables: Mapping[str, Any], **parts: Any) -> RunFacts:
    return run_facts_of({"tables_in_turns": list(tables)} | parts)


def record(
    stack: str,
    *,
    round: int = 1,
    window: int = 1,
    block: int = 1,
    goodput: float = 4000.0,
    cpu_s: float | None = 250e-6,
    causes: Sequence[Cause] = (),
    line: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Record:
    """The record of one window of a service; `cpu_s`: CPU time per success."""
    planned = dict(line or entry(stack, level="c16", round=round))
    names = ("service", "server", "framework", "python", "base", "package", "scenario", "tool", "level")
    successes = int(goodput * TURN_S)
    values: dict[str, Any] = dict.fromkeys(FIGURES)
    values |= {"requests": successes, "attempts": successes, "successes": successes, "duration_s": TURN_S}
    values |= {"goodput": goodput, "cpu_per_success_s": cpu_s, "memory_loaded_bytes": 50_000_000, "exit_status": 0}
    values |= {"server_cpu_s": None if cpu_s is None else cpu_s * successes, "tool_version": "4.2.0"}
    values |= {"memory_idle_bytes": 30_000_000, "start_s": 0.5, "image_bytes": 190_000_000}
    values |= {"id": f"r{round:02}-b{block}-{window}-{planned['service']}-{planned['scenario']}", "position": 1}
    values |= {"round": round, "mode": "turns", "slot": 1, "window": window, "block": block, "window_end": "frozen"}
    values |= {name: planned[name] for name in (*names, "connections")} | {"level": Level.read(planned["level"])}
    values |= {"rate": None, "count": None, "asked_s": TURN_S, "harness": "v0", "settings_sha256": "ab" * 32}
    values |= {"stdin": None, "raw_file": "output.txt", "outcome": "measured"}
    values |= {"errors": dict.fromkeys(ERROR_KINDS, 0) | {"status": {}, "other": {}}, "valid": not causes}
    values |= {"latency_kind": "closed loop", "latency_s": dict.fromkeys(LATENCIES)} | changes
    nulls = {name: "not in this test" for name in FIGURES if values[name] is None}
    nulls |= {f"latency_s.{key}": LATENCY for key in LATENCIES}
    return Record(**values, causes=tuple(causes), nulls=nulls)


def measured(
    speeds: Mapping[str, float],
    rounds: int,
    *,
    windows: int = 2,
    spread: float = 0.012,
    noise: float = 0.06,
    seed: int = 7,
    scenario: str = "json",
    changes: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Record]:
    """Windows of services with these requests/s; `noise` is common to a window, `spread` is of each service."""
    rng, found = random.Random(seed), []
    for number in range(1, rounds + 1):
        for window in range(1, windows + 1):
            common = rng.gauss(0, noise)
            for stack, speed in speeds.items():
                goodput = speed * (1 + common) * (1 + rng.gauss(0, spread))
                cpu_s = 1 / (speed * (1 - common / 2) * (1 + rng.gauss(0, spread)))
                line = entry(stack, scenario, level="c16", round=number)
                own = {"goodput": goodput, "cpu_s": cpu_s} | dict((changes or {}).get(stack, {}))
                found.append(record(stack, round=number, window=window, line=line, **own))
    return found


def ranking_text(speeds: Mapping[str, float], rounds: int, most: int = 12, **how: Any) -> RankingText:
    """The ranking of one table of stacks, with its words."""
    waits = how.pop("waits", False)
    names = [service_of(stack) for stack in speeds]
    (found,) = ranking_texts(facts_of(table(names, most, waits=waits)), measured(speeds, rounds, **how))
    return found


def ranking_of(speeds: Mapping[str, float], rounds: int, most: int = 12, **how: Any) -> Ranking:
    """The ranking of one table of stacks."""
    return ranking_text(speeds, rounds, most, **how).ranking


def ranking_texts(
    facts: RunFacts,
    records: Sequence[Record],
    absent: Mapping[str, str] | None = None,
    services: Mapping[str, ServiceFacts] = {},
) -> tuple[RankingText, ...]:
    """The rankings of a run's tables, with their words."""
    return describe_rankings(judge_tables(facts, records, absent), facts, records, services)


# A user's own app on servers that differ in how many requests can wait at the same time.
OWN_SPEEDS = {"granian-wsgi": 3000, "waitress": 2400, "gunicorn-sync": 900, "gunicorn-gevent": 880}
"""Requests/s by server."""
_GUNICORN = ("/opt/venv/bin/python3", "/opt/venv/bin/gunicorn", "--config", "/app/server/gunicorn.conf.py")
_STARTED: Mapping[str, Sequence[str]] = {
    "granian-wsgi": ("granian", "server.drained:app", "--workers", "2", "--blocking-threads", "8"),
    "waitress": ("python3", START),
    "gunicorn-sync": (*_GUNICORN, "--worker-class", "sync", "--workers", "2", "app:app"),
    "gunicorn-gevent": (*_GUNICORN, "--worker-class", "gevent", "--workers", "2", "app:app"),
}


def own_app_run(
    speeds: Mapping[str, float] = OWN_SPEEDS, rounds: int = 6, **app: Any
) -> tuple[RunFacts, RankingText, dict[str, ServiceFacts]]:
    """(its facts, the ranking with its words, facts about services) of a run of a user's own app with 2 workers."""
    names = {server: service_of(f"{server}-wsgi") for server in speeds}
    own = {"name": "shop", "app": "main:app", "options": ["--app", "/home/a/bench/my shop", "main:app"]}
    own |= {"project": "/home/a/bench"} | app
    own["targets"] = [{"scenario": "json", "request": "GET /", "weight": 1}]
    known_services: dict[str, Any] = {}
    command = ["--server", "gunicorn-*,waitress", "--level", "c64", "--vary=THREADS=8"]
    environment = {"PORT": "8080", "WORKERS": "2", "BACKLOG": "2048", "THREADS": "8"}
    services = {}
    for server, name in names.items():
        known = MATRIX.servers[server]
        assert known.notes
        entry_ = {"server": server, "framework": "shop", "python": "3.13", "base": "debian", "model": known.model}
        entry_ |= {"concurrent": known.concurrent, "notes": {k: v for k, v in asdict(known.notes).items() if v}}
        known_services[name] = entry_ | {"asks_for": [server.partition("-")[0]]}
        started = StartCommand(_STARTED[server], environment)
        services[name] = ServiceFacts(name=name, command=started, packages={server.partition("-")[0]: "9.9"})
    run = {"own_app": own, "knobs": {"WORKERS": "2"}, "services": known_services, "command": command}
    facts = facts_of(table([*names.values()], 12, waits=True), **run)
    records = measured({f"{server}-wsgi": speed for server, speed in speeds.items()}, rounds)
    (found,) = ranking_texts(facts, records, services=services)
    return facts, found, services


def report_of(folder: Path, records: Sequence[Record], *tables: Mapping[str, Any], **facts: Any) -> str:
    """report.md of a run with these records."""
    lines = [entry(stack, number=number) for number, stack in enumerate(facts.pop("stacks"), 1)]
    write_run(folder, lines, tables_in_turns=list(tables), mode="turns", rounds=0, **facts)
    source = read_run(str(folder))
    services = {line["service"]: read_service(source.path, line["service"]) for line in lines}
    rankings = ranking_texts(source.facts, records)
    return Report(source, services, findings_of(records, source.facts, services), rankings, {}).markdown()


def write_turns(folder: Path) -> str:
    """report.md of two tables: ties, a service that gives only errors, and one limited only by its load generator."""
    speeds = {"gunicorn-gevent-flask": 1900, "gunicorn-sync-flask": 1000, "uvicorn-asgi": 5400, "aiohttp": 5380}
    speeds["tornado"] = 3000
    errors, bound = [Cause("errors", "40 of 400 | got 500")], [Cause("loadgen-bound", "wrk's CPUs were 99 % busy")]
    records = measured(speeds, 8, changes={"tornado": {"causes": errors}, "aiohttp": {"causes": bound}})
    slow = {"gunicorn-gevent-flask": 400, "gunicorn-sync-flask": 48, "aiohttp": 401, "tornado": 399}
    records += measured(slow, 5, scenario="delay-20", spread=0.02)
    first, second = table(map(service_of, speeds)), table(map(service_of, slow), scenario="delay-20", waits=True)
    return report_of(folder, records, first, second, stacks=list(speeds), title="Quick look", preset="quick")

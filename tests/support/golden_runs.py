"""Synthetic runs, as raw files, that fill every column of the tables of services measured alone."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

from make_run import entry, output_of, plan_lines, write_knee, write_latencies, write_measurement, write_run
from places import SAMPLES


def summary(folder: Path) -> None:
    stacks = ("gunicorn-sync-flask", "aiohttp", "bjoern-wsgi", "tornado")
    loads = (("wrk", "c32"), ("hey", "c32"), ("vegeta", "r200"))
    lines = plan_lines((*cell, *load) for *cell, load in product(stacks, ("json", "delay-20"), loads))
    skipped = [{"service": "aiohttp-py313-alpine", "scenario": None, "tool": None, "cause": "base image not reachable"}]
    write_run(folder, lines, title="Quick look", preset="quick", skipped=skipped)
    for line in lines:
        if line["server"] == "tornado":
            continue  # failed to build
        if line["server"] == "bjoern" and line["scenario"] == "delay-20" and line["tool"] == "hey":
            continue  # not run
        # With answers that take 20 ms, 32 connections get at most 1,600 per second.
        most = 500 + 40 * line["position"] if line["scenario"] == "delay-20" else 1000 + 100 * line["position"]
        rps = 200 if line["rate"] else most
        bad = 40 if line["server"] == "bjoern" and line["scenario"] == "json" else 0
        write_measurement(folder, line, output_of(line, rps, bad))
    died = next(line for line in lines if line["server"] == "gunicorn-sync" and line["scenario"] == "delay-20")
    refused = (SAMPLES / "wrk/refused.txt").read_bytes()
    write_measurement(folder, died, refused, meta={"outcome": "died", "detail": "exit status 139 | under load"})
    failed = folder / "raw/services/tornado-py313-debian"
    failed.mkdir(parents=True, exist_ok=True)
    detail = "pip: no matching distribution for <tornado>"
    (failed / "failure.json").write_text(json.dumps({"outcome": "build failed", "detail": detail}))
    for name in ("image.json", "python.txt", "packages.txt"):
        (failed / name).unlink()


def proxy_py(folder: Path) -> None:
    rates = {"proxy-py": 7990, "uvicorn-blacksheep": 7995, "aiohttp": 4000, "tornado": 2500, "werkzeug-flask": 600}
    lines = plan_lines((stack, "http-route-example", "hey", "c100r8000") for stack in rates)
    write_run(folder, lines, preset="proxy-py", published="proxy-py")
    environment = {"PORT": "8080", "WORKERS": "1", "BACKLOG": "4096"}
    python, flags = "/opt/venv/bin/python3", ["--port", "8080", "--workers", "1"]
    uvicorn = [python, "/opt/venv/bin/uvicorn", "app:app", *flags]
    started: dict[str, dict[str, Any]] = {
        "proxy-py": {"argv": [python, "/app/server/start"], "environment": environment},
        "uvicorn-blacksheep": {"argv": uvicorn, "environment": environment},
        "tornado": {"missing": "no Docker socket is mounted"},
    }
    for stack, command in started.items():
        (folder / f"raw/services/{stack}-py313-debian/command.json").write_text(json.dumps(command))
    for line, rps in zip(lines, rates.values(), strict=True):
        # Flask's own server answers one in a hundred with a 500.
        write_measurement(folder, line, output_of(line, rps, 30 if rps == 600 else 0))


def aiohttp_versions(folder: Path) -> None:
    loads = (("json", "c32"), ("json", "c128"), ("queries-20-raw", "c256"))
    cells = [*product(("3.11", "3.14"), ("aiohttp==3.13.5", "aiohttp==3.14.5"), loads)]
    lines = [
        entry("aiohttp", scenario, "wrk", level, number=number, python=python, package=package, round=round)
        for round in (1, 2, 3)
        for number, (python, package, (scenario, level)) in enumerate(cells, 1)
    ]
    write_run(folder, lines, preset="aiohttp-versions", published="aiohttp-versions")
    for line in lines:
        rps = 5000 * (1.2 if line["python"] == "3.14" else 1) * (0.95 if line["package"] == "aiohttp==3.14.5" else 1)
        lost = line["round"] == 2 and line["level"] == "c128" and line["python"] == "3.14"
        write_measurement(folder, line, output_of(line, rps + 7 * line["position"] * line["round"], 100 if lost else 0))


def aiohttp_vs_gunicorn(folder: Path) -> None:
    cells = product(("delay-20", "delay-0"), ("gunicorn-aiohttp-aiohttp", "aiohttp"))
    lines = plan_lines((stack, scenario, "wrk", "c128") for scenario, stack in cells)
    write_run(folder, lines, preset="aiohttp-vs-gunicorn", published="aiohttp-vs-gunicorn")
    for line in lines:
        write_measurement(folder, line, output_of(line, 3000 if line["server"] == "aiohttp" else 3300))


def wsgi_asgi(folder: Path) -> None:
    cells = {
        ("bjoern-wsgi", "r20000"): (20000, 0),
        ("gunicorn-sync-wsgi", "r20000"): (15000, 0),
        ("bjoern-hug", "r10000"): (10000, 0),
        ("uvicorn-asgi", "r10000"): (10000, 5000),
        ("gunicorn-sync-wsgi", "r5000"): (5000, 0),
        ("cherrypy", "r2000"): (2000, 0),
    }
    lines = plan_lines((stack, "root", "vegeta", level) for stack, level in cells)
    write_run(folder, lines, preset="wsgi-asgi", published="wsgi-asgi")
    for line, (rps, bad) in zip(lines, cells.values(), strict=True):
        write_measurement(folder, line, output_of(line, rps, bad))


def sync_vs_gevent(folder: Path) -> None:
    stacks, scenarios = ("gunicorn-gevent-flask", "gunicorn-sync-flask"), ("simple-json", "create-data-1")
    lines = plan_lines(product(stacks, scenarios, ("ab",), ("c4n1000", "c16n1000")), 5)
    write_run(folder, lines, preset="sync-vs-gevent", published="sync-vs-gevent")
    for line in lines:
        sync = line["server"] == "gunicorn-sync"
        rps = (1100 if sync else 900) + 13 * line["round"] + line["position"]
        cut = line["id"] == "r03-0001"
        output = output_of(line, rps)
        write_measurement(folder, line, output[: len(output) // 2] if cut else output, cpu_s=0.9 if sync else 1.1)


def latency(folder: Path) -> None:
    knees = {"uvicorn-asgi": 4200, "aiohttp": 2800}
    levels = ("knee-p99-50ms", "knee70-p99-50ms")
    lines = plan_lines(product(knees, ("json",), ("vegeta",), levels), 4, duration_s=10.0)
    peaks = [entry(stack, "json", "wrk", "c64", number=number) for number, stack in enumerate(knees, 5)]
    write_run(folder, [*lines, *peaks], preset="latency")
    for line, goodput in zip(peaks, (5000, 3500), strict=True):
        write_measurement(folder, line, output_of(line, goodput))
    for line in lines:
        share = 0.7 if line["level"].startswith("knee70") else None
        stack = "aiohttp" if line["server"] == "aiohttp" else "uvicorn-asgi"
        asked = line | {"rate": round(0.7 * knees["aiohttp"]) if share else knees[stack]}
        # aiohttp's third round exceeds the limit.
        slow = 80_000_000 if stack == "aiohttp" and line["round"] == 3 and not share else 9_000_000
        write_measurement(folder, asked, output_of(asked, asked["rate"]))
        write_latencies(folder, line, asked["rate"], slow)
        found_in = None if line["round"] == 1 and not share else "r01"
        write_knee(folder, line, asked["rate"], found_in, seconds=10, share=share)


FORMS = (summary, proxy_py, aiohttp_versions, aiohttp_vs_gunicorn, wsgi_asgi, sync_vs_gevent, latency)

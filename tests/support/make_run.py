"""Makes synthetic results folders for tests."""

from __future__ import annotations

import itertools
import json
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from places import OUTPUTS

from bench.matrix.model import stack_name
from bench.plan.measurement import step_folder
from bench.tools.levels import Level
from bench.tools.send_lag import Attack, lag_facts, latency_facts

SECONDS = 5.0
LOADGEN_S, DATABASE_S, UPSTREAM_S = 1.5, 0.3, 0.1
PERCENTILES = {10: 0.5, 25: 0.8, 50: 1.0, 66: 1.1, 75: 1.2, 80: 1.3, 90: 1.5, 95: 1.8, 98: 1.9, 99: 2.0}
"""The latency at each of them, as a factor of the mean."""
DATABASE = ("create-data", "db-", "queries-", "updates-", "fortunes-")
_STACKS = (
    *(("gunicorn-sync", "flask"), ("gunicorn-gevent", "flask"), ("gunicorn-aiohttp", "aiohttp")),
    *(("gunicorn-sync", "wsgi"), ("gunicorn-gevent", "wsgi"), ("granian-wsgi", "wsgi"), ("waitress", "wsgi")),
    *(("uvicorn", "blacksheep"), ("uvicorn", "asgi"), ("werkzeug", "flask"), ("bjoern", "wsgi"), ("bjoern", "hug")),
    *((alone, alone) for alone in ("cherrypy", "aiohttp", "tornado", "proxy-py")),
)
SERVERS = {stack_name(server, framework): (server, framework) for server, framework in _STACKS}


def entry(
    stack: str = "aiohttp",
    scenario: str = "json",
    tool: str = "wrk",
    level: str = "c64",
    *,
    number: int = 1,
    round: int = 1,
    python: str = "3.13",
    package: str | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """A line of plan.jsonl."""
    server, framework = SERVERS[stack]
    version = f"-{package.partition('==')[2].replace('.', '-')}" if package else ""
    service = f"{stack}{version}-py{python.replace('.', '')}-debian"
    asked = Level.read(level)
    line: dict[str, Any] = {"id": f"r{round:02}-{number:04}", "round": round, "position": number, "service": service}
    line |= {"server": server, "framework": framework, "python": python, "base": "debian", "package": package}
    line |= {"scenario": scenario, "tool": tool, "level": asked.text, "connections": asked.connections}
    line |= {"count": asked.count, "rate": asked.rate, "knee_p99_s": asked.knee_p99_s}
    line |= {"duration_s": None if asked.count else SECONDS, "threads": 1, "database": scenario.startswith(DATABASE)}
    line |= changes
    return {"dir": f"raw/r{round:02}/{number:04}/{scenario}/{tool}-{asked.text}/w1/{line['service']}"} | line


def plan_lines(cells: Iterable[Sequence[str]], rounds: int = 1, **changes: Any) -> list[dict[str, Any]]:
    """The lines of (stack, scenario, tool, level) in each round."""
    numbered = [*enumerate(cells, 1)]
    return [entry(*cell, number=n, round=r, **changes) for r in range(1, rounds + 1) for n, cell in numbered]


def looks_of(most: int) -> list[int]:
    """The looks at a synthetic table of at most `most` rounds, which begin earlier than those of a real one."""
    return [*(look for look in (4, 6, 8, 12) if look <= most - 2), max(1, most)]


def output_of(line: Mapping[str, Any], rps: float, bad: int = 0) -> str:
    """What the line's tool prints for `rps` answers per second; `bad` answers in total are 500."""
    if line["tool"] == "vegeta":
        return _vegeta(line, rps, bad)
    requests, mean_s = line["count"] or round(rps * line["duration_s"]), line["connections"] / rps
    took_s = {share: factor * mean_s for share, factor in PERCENTILES.items()}
    values = {"requests": requests, "good": requests - bad, "bad": bad, "rps": rps, "seconds": requests / rps}
    values |= {"mean_s": mean_s, "mean_ms": 1000 * mean_s, "most_s": 3 * mean_s, "most_ms": 3000 * mean_s}
    values |= {"each_ms": 1000 / rps, "body_bytes": 38 * requests, "all_bytes": 138 * requests}
    values |= {"s": took_s, "ms": {share: 1000 * seconds for share, seconds in took_s.items()}}
    lines = (OUTPUTS / f"{line['tool']}.txt").read_text().splitlines(keepends=True)
    return "".join(text for text in lines if bad or "{bad}" not in text).format(**{**line, **values})


def _vegeta(line: Mapping[str, Any], rps: float, bad: int) -> str:
    """`rps`: requests sent per second."""
    sent = round(rps * line["duration_s"])
    attack = round((line["duration_s"] - 1 / line["rate"]) * 1e9)
    wait, good = 1_000_000, sent - bad
    latencies = {"total": sent, "mean": 2_000_000, "50th": 1_900_000, "90th": 3_000_000, "95th": 4_000_000}
    latencies |= {"99th": 9_000_000, "max": 20_000_000, "min": 500_000}
    report: dict[str, Any] = {"latencies": latencies, "bytes_in": {"total": 38 * sent, "mean": 38}}
    report |= {"bytes_out": {"total": 0, "mean": 0}, "duration": attack, "wait": wait, "requests": sent}
    report |= {"rate": sent / (attack / 1e9), "throughput": good / ((attack + wait) / 1e9), "success": good / sent}
    report |= {"status_codes": {"200": good} | ({"500": bad} if bad else {})}
    report |= {"errors": ["500 Internal Server Error"] if bad else []}
    return json.dumps(report, separators=(",", ":")) + "\n"


@cache
def sent_on_time(requests: int, rate: float, tail_ns: int = 9_000_000) -> dict[str, str]:
    """lag.json and latencies.json of requests that were all sent in time, with the percentiles of `_vegeta`."""
    took = [*[1_900_000] * 50, *[3_000_000] * 40, *[4_000_000] * 5, *[tail_ns] * 4, 20_000_000]
    attack = Attack(
        array("q", (round(number * 1e9 / rate) for number in range(requests))),
        array("q", (took[number % 100] for number in range(requests))),
    )
    files = {"lag.json": lag_facts(attack, rate, 11 * round(rate)), "latencies.json": latency_facts(attack, rate)}
    return {name: json.dumps(facts) for name, facts in files.items()}


def write_run(folder: Path, lines: Sequence[Mapping[str, Any]], **facts: Any) -> Path:
    """Writes run.json, plan.jsonl and the files about each service; no measurement yet."""
    folder.mkdir(parents=True, exist_ok=True)
    services = {line["service"]: line for line in lines}
    what = ("server", "framework", "python", "package")
    known = {name: {"base": "debian"} | {key: line[key] for key in what} for name, line in services.items()}
    run: dict[str, Any] = {"schema": 1, "run": "a-test", "preset": "test"}
    run |= {"title": "A test's fixture: nothing here was measured"}
    run |= {"published": None, "rounds": max((line["round"] for line in lines), default=1), "seed": 1, "command": []}
    run |= {"knobs": {"WORKERS": "1", "SERVER_CPUS": "0"}, "harness": {"version": "v0", "hash": "0123456789abcdef"}}
    run |= {"containers": "fresh for every measurement", "engine": "an engine", "host": {"cpu": "a CPU", "cpus": 2}}
    run |= {"services": known, "skipped": []}
    (folder / "run.json").write_text(json.dumps(run | facts))
    (folder / "plan.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, line in services.items():
        saved = folder / "raw/services" / name
        saved.mkdir(parents=True, exist_ok=True)
        labels = {"bench.base.made": "mmdebstrap, Debian trixie, minbase"}
        image = {"Id": "sha256:" + "ab" * 32, "Size": 190 * 10**6, "Config": {"Labels": labels}}
        (saved / "image.json").write_text(json.dumps([image]))
        (saved / "idle.txt").write_text(_lines({"memory_bytes": 30 << 20}))
        (saved / "python.txt").write_text(f"Python {line['python']}.1 (main) [GCC]\n")
        others = "blacksheep==2.4.2\nFlask==3.1.2\ngunicorn==23.0.0\nproxy.py==2.4.10\n"
        (saved / "packages.txt").write_text(f"{line['package'] or 'aiohttp==3.13.5'}\n{others}")
        (saved / "limits.txt").write_text("nofile 16384\nnet.core.somaxconn 16384\n")
    return folder


def write_measurement(
    folder: Path,
    line: Mapping[str, Any],
    output: str | bytes,
    *,
    cpu_s: float = 1.0,
    tool: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
    after: Mapping[str, int | str] | None = None,
    database: Mapping[str, int | str] | None = None,
) -> None:
    """Writes the raw files of a complete measurement; `tool`, `meta`, `after` and `database` change their files.

    The host has one CPU, which was busy for 0.1 s more than the measured processes used.
    """
    saved = folder / line["dir"]
    saved.mkdir(parents=True, exist_ok=True)
    name = "output.json" if line["tool"] == "vegeta" else "output.txt"
    (saved / name).write_bytes(output if isinstance(output, bytes) else output.encode())
    if line["tool"] == "vegeta" and (found := re.search(r'"requests":(\d+)', str(output))):
        for file, text in sent_on_time(int(found[1]), line["rate"]).items():
            (saved / file).write_text(text)
    seconds = 60 if line["duration_s"] is None else line["duration_s"] + 1
    begin, end = 10**9, 10**9 + round(seconds * 1e9)
    busy = round(100 * (max(cpu_s, 0) + LOADGEN_S + DATABASE_S + UPSTREAM_S + 0.1))
    idle = 800 + 100 * seconds - busy - 1
    times = {"before": " 100 0 100 800 0 0 0 0 0 0", "after": f" {busy} 0 200 {idle:.0f} 0 0 0 1 0 0"}
    ends: dict[str, dict[str, Any]] = {
        when: {"proc_stat": f"cpu {ticks}", "proc_stat_own": f"cpu0{ticks}"} for when, ticks in times.items()
    }
    ends["before"]["loadgen"] = {"cpuacct.usage": "1000000000"}
    ends["after"]["loadgen"] = {"cpuacct.usage": "2500000000"}
    facts = {"schema": 1, "tool": line["tool"], "tool_version": "1.0", "argv": [line["tool"], "-x"], "stdin": None}
    facts |= {"start_ns": begin, "end_ns": end, "exit_status": 0}
    facts |= {"limits": {"nofile": 16384, "cpus": "1", "host_cpus": "1"}, "sysctls": {"net.ipv4.tcp_tw_reuse": "1"}}
    facts |= {"waits": {"seen_ns": str(end), "waited_ns": str((end - begin) // 50), "threads": "1"}}
    facts |= ends | {"health_after": {"status": 200, "time_s": 0.001, "error": None}}
    (saved / "tool.json").write_text(json.dumps(facts | dict(tool or {})))
    counters = {"cpu_usage_ns": 5 * 10**9, "nr_throttled": 0, "throttled_ns": 0}
    counters |= {"memory_bytes": 50 << 20, "oom_kill": 0, "restarts": 0, "pids": "11 12", "irq_time": "in_tasks"}
    counters |= {"ticks_12": 500}
    used = {"cpu_usage_ns": 5 * 10**9 + round(cpu_s * 1e9), "ticks_12": 500 + max(0, round(cpu_s * 100))}
    write_states(folder, line, line["service"], counters, used | dict(after or {}))
    for name, used_s in (("postgres", DATABASE_S), ("upstream", UPSTREAM_S)):
        used = {"cpu_usage_ns": 10**9 + round(used_s * 1e9)} | dict((database or {}) if name == "postgres" else {})
        write_states(folder, line, name, {"cpu_usage_ns": 10**9}, used)
    done = {"schema": 1, "id": line["id"], "outcome": "measured", "detail": "", "image_id": "sha256:" + "cd" * 32}
    done |= {"started_ns": 10**9, "ready_ns": 1_450_000_000}
    (saved / "meta.json").write_text(json.dumps(done | dict(meta or {})))


def write_measured(folder: Path, lines: Sequence[Mapping[str, Any]], rate: float, **facts: Any) -> Path:
    """Writes a run in which every load had this rate, or the one that it was asked for."""
    write_run(folder, lines, **facts)
    for line in lines:
        write_measurement(folder, line, output_of(line, line["rate"] or rate))
    return folder


def write_knee(folder: Path, line: Mapping[str, Any], rate: int, found_in: str | None = None, **more: Any) -> None:
    """Writes knee.json of a load at a knee; `found_in`: the round with the search for it."""
    facts = {"rate": rate, "seconds": 5, "share": None, "reason": None, "found_in": found_in}
    (folder / line["dir"] / "knee.json").write_text(json.dumps(facts | more))


def write_latencies(folder: Path, line: Mapping[str, Any], rate: float, tail_ns: int) -> None:
    """Replaces what is known of the line's requests, which were sent at this rate and on time."""
    for name, text in sent_on_time(round(rate * line["duration_s"]), rate, tail_ns).items():
        (folder / line["dir"] / name).write_text(text)


def mark_measured(folder: Path, line: Mapping[str, Any]) -> None:
    """Writes meta.json, which says that a measurement is complete."""
    meta = {"schema": 1, "id": line["id"], "outcome": "measured", "detail": ""}
    (folder / line["dir"] / "meta.json").write_text(json.dumps(meta))


def services_of(folder: Path, line: Mapping[str, Any]) -> Path:
    """The folder with the counters of the step's containers, NAME.before and NAME.after."""
    return folder / step_folder(line["dir"]) / "services"


def write_states(
    folder: Path, line: Mapping[str, Any], name: str, before: Mapping[str, Any], change: Mapping[str, Any]
) -> None:
    """Writes the counters of a container before and after."""
    services = services_of(folder, line)
    services.mkdir(parents=True, exist_ok=True)
    (services / f"{name}.before").write_text(_lines(before))
    (services / f"{name}.after").write_text(_lines({**before, **change}))


def _lines(counters: Mapping[str, Any]) -> str:
    return "".join(f"{key} {value}\n" for key, value in counters.items())


def many(count: int) -> Iterable[dict[str, Any]]:
    """Lines of a large plan with all tools."""
    loads = (("wrk", "c64"), ("hey", "c64"), ("ab", "c16n1000"), ("vegeta", "r500"))
    cells = itertools.product(range(1, 1000), ("json", "plaintext", "db-raw", "delay-20"), loads, SERVERS)
    for number, (round, scenario, (tool, level), stack) in enumerate(itertools.islice(cells, count), 1):
        yield entry(stack, scenario, tool, level, number=number, round=round)

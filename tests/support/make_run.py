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

from bench.matrix.model import stack_name
from bench.plan.levels import parse_level
from bench.plan.measurement import step_folder
from bench.tools.send_lag import Attack, lag_facts, latency_facts

SECONDS = 5.0
LOADGEN_S, DATABASE_S, UPSTREAM_S = 1.5, 0.3, 0.1
DATABASE = ("create-data", "db-", "queries-", "updates-", "fortunes-")
SERVERS = {
    "gunicorn-sync-flask": ("gunicorn-sync", "flask"),
    "gunicorn-gevent-flask": ("gunicorn-gevent", "flask"),
    "gunicorn-aiohttp-aiohttp": ("gunicorn-aiohttp", "aiohttp"),
    "gunicorn-sync-wsgi": ("gunicorn-sync", "wsgi"),
    "gunicorn-gevent-wsgi": ("gunicorn-gevent", "wsgi"),
    "granian-wsgi-wsgi": ("granian-wsgi", "wsgi"),
    "waitress-wsgi": ("waitress", "wsgi"),
    "uvicorn-blacksheep": ("uvicorn", "blacksheep"),
    "uvicorn-asgi": ("uvicorn", "asgi"),
    "werkzeug-flask": ("werkzeug", "flask"),
    "bjoern-wsgi": ("bjoern", "wsgi"),
    "bjoern-hug": ("bjoern", "hug"),
    "cherrypy": ("cherrypy", "cherrypy"),
    "aiohttp": ("aiohttp", "aiohttp"),
    "tornado": ("tornado", "tornado"),
    "proxy-py": ("proxy-py", "proxy-py"),
}


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
    assert stack == stack_name(server, framework)
    version = f"-{package.partition('==')[2].replace('.', '-')}" if package else ""
    service = f"{stack}{version}-py{python.replace('.', '')}-debian"
    asked = parse_level(level)
    line = {
        "id": f"r{round:02}-{number:04}",
        "round": round,
        "position": number,
        "service": service,
        "server": server,
        "framework": framework,
        "python": python,
        "base": "debian",
        "package": package,
        "scenario": scenario,
        "tool": tool,
        "level": asked.name,
        "connections": asked.connections,
        "count": asked.count,
        "rate": asked.rate,
        "knee_p99_s": asked.knee_p99_s,
        "duration_s": None if asked.count else SECONDS,
        "threads": 1,
        "database": scenario.startswith(DATABASE),
    } | changes
    return {"dir": f"raw/r{round:02}/{number:04}/{scenario}/{tool}-{asked.name}/w1/{line['service']}"} | line


def looks_of(most: int) -> list[int]:
    """The looks at a synthetic table of at most `most` rounds, which begin earlier than those of a real one."""
    return [*(look for look in (4, 6, 8, 12) if look <= most - 2), max(1, most)]


def output_of(line: Mapping[str, Any], rps: float, bad: int = 0) -> str:
    """What the line's tool prints for `rps` answers per second; `bad` answers in total are 500."""
    writers = {"wrk": _wrk, "hey": _hey, "ab": _ab, "vegeta": _vegeta}
    return writers[line["tool"]](line, rps, bad)


def _mean(line: Mapping[str, Any], rps: float) -> float:
    return line["connections"] / rps


def _wrk(line: Mapping[str, Any], rps: float, bad: int) -> str:
    ms = 1000 * _mean(line, rps)
    requests = round(rps * line["duration_s"])
    non2xx = f"  Non-2xx or 3xx responses: {bad}\n" if bad else ""
    return (
        f"Running {line['duration_s']:.0f}s test @ http://{line['service']}:8080/\n"
        f"  {line['threads']} threads and {line['connections']} connections\n"
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
        f"    Latency   {ms:.2f}ms    0.10ms   {3 * ms:.2f}ms   80.00%\n"
        "    Req/Sec     7.14k     1.00k    9.00k    75.00%\n"
        "  Latency Distribution\n"
        f"     50%  {ms:.2f}ms\n     75%  {1.2 * ms:.2f}ms\n     90%  {1.5 * ms:.2f}ms\n     99%  {2 * ms:.2f}ms\n"
        f"  {requests} requests in {line['duration_s']:.2f}s, 1.00MB read\n"
        f"{non2xx}Requests/sec: {rps:9.2f}\nTransfer/sec:      1.00MB\n"
    )


def _hey(line: Mapping[str, Any], rps: float, bad: int) -> str:
    requests = line["count"] or round(rps * line["duration_s"])
    seconds, mean = requests / rps, _mean(line, rps)
    failed = f"  [500]\t{bad} responses\n" if bad else ""
    percentiles = ((10, 0.5), (25, 0.8), (50, 1.0), (75, 1.2), (90, 1.5), (95, 1.8), (99, 2.0))
    rows = "".join(f"  {share}% in {factor * mean:.4f} secs\n" for share, factor in percentiles)
    return (
        f"\nSummary:\n  Total:\t{seconds:.4f} secs\n  Slowest:\t{3 * mean:.4f} secs\n  Fastest:\t0.0001 secs\n"
        f"  Average:\t{mean:.4f} secs\n  Requests/sec:\t{rps:.4f}\n  \n  Total data:\t{38 * requests} bytes\n"
        f"  Size/request:\t38 bytes\n\nResponse time histogram:\n  0.000 [1]\t|\n\n\n"
        f"Latency distribution:\n{rows}\nDetails (average, fastest, slowest):\n"
        "  DNS+dialup:\t0.0000 secs, 0.0000 secs, 0.0001 secs\n\n"
        f"Status code distribution:\n  [200]\t{requests - bad} responses\n{failed}\n\n\n"
    )


def _ab(line: Mapping[str, Any], rps: float, bad: int) -> str:
    requests = line["count"] or round(rps * line["duration_s"])
    seconds, ms = requests / rps, 1000 * _mean(line, rps)
    non2xx = f"Non-2xx responses:      {bad}\n" if bad else ""
    shares = ((50, 1.0), (66, 1.1), (75, 1.2), (80, 1.3), (90, 1.5), (95, 1.8), (98, 1.9), (99, 2.0))
    rows = "".join(f"  {share}% {factor * ms:6.0f}\n" for share, factor in shares)
    return (
        "This is ApacheBench, Version 2.3 <$Revision$>\n"
        "Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/\n"
        "Licensed to The Apache Software Foundation, http://www.apache.org/\n\n"
        f"Benchmarking {line['service']} (be patient).....done\n\n\n"
        f"Server Software:        test\nServer Hostname:        {line['service']}\nServer Port:            8080\n\n"
        f"Document Path:          /\nDocument Length:        Variable\n\n"
        f"Concurrency Level:      {line['connections']}\nTime taken for tests:   {seconds:.3f} seconds\n"
        f"Complete requests:      {requests}\nFailed requests:        0\n{non2xx}"
        f"Total transferred:      {138 * requests} bytes\nHTML transferred:       {38 * requests} bytes\n"
        f"Requests per second:    {rps:.2f} [#/sec] (mean)\nTime per request:       {ms:.3f} [ms] (mean)\n"
        f"Time per request:       {1000 / rps:.3f} [ms] (mean, across all concurrent requests)\n"
        "Transfer rate:          100.00 [Kbytes/sec] received\n\nConnection Times (ms)\n"
        "              min  mean[+/-sd] median   max\n"
        "Connect:        0    0   0.1      0       1\n"
        f"Processing:     0 {ms:4.0f}   0.4 {ms:6.0f} {3 * ms:7.0f}\n"
        f"Waiting:        0 {ms:4.0f}   0.4 {ms:6.0f} {3 * ms:7.0f}\n"
        f"Total:          0 {ms:4.0f}   0.4 {ms:6.0f} {3 * ms:7.0f}\n\n"
        f"Percentage of the requests served within a certain time (ms)\n{rows}"
        f" 100% {3 * ms:6.0f} (longest request)\n"
    )


def _vegeta(line: Mapping[str, Any], rps: float, bad: int) -> str:
    """`rps`: requests sent per second."""
    sent = round(rps * line["duration_s"])
    attack = round((line["duration_s"] - 1 / line["rate"]) * 1e9)
    wait, good = 1_000_000, sent - bad
    latencies = {"total": sent, "mean": 2_000_000, "50th": 1_900_000, "90th": 3_000_000, "95th": 4_000_000}
    codes = {"200": good} | ({"500": bad} if bad else {})
    report = {
        "latencies": latencies | {"99th": 9_000_000, "max": 20_000_000, "min": 500_000},
        "bytes_in": {"total": 38 * sent, "mean": 38},
        "bytes_out": {"total": 0, "mean": 0},
        "duration": attack,
        "wait": wait,
        "requests": sent,
        "rate": sent / (attack / 1e9),
        "throughput": good / ((attack + wait) / 1e9),
        "success": good / sent,
        "status_codes": codes,
        "errors": ["500 Internal Server Error"] if bad else [],
    }
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
    run = {
        "schema": 1,
        "run": "a-test",
        "preset": "test",
        "title": "A test's fixture: nothing here was measured",
        "published": None,
        "rounds": max((line["round"] for line in lines), default=1),
        "seed": 1,
        "command": [],
        "knobs": {"WORKERS": "1", "SERVER_CPUS": "0"},
        "harness": {"version": "v0", "hash": "0123456789abcdef"},
        "containers": "fresh for every measurement",
        "engine": "an engine",
        "host": {"cpu": "a CPU", "cpus": 2},
        "services": {
            name: {"server": line["server"], "framework": line["framework"], "python": line["python"], "base": "debian"}
            | {"package": line["package"]}
            for name, line in services.items()
        },
        "skipped": [],
    }
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
        (saved / "packages.txt").write_text(
            f"{line['package'] or 'aiohttp==3.13.5'}\n"
            "blacksheep==2.4.2\nFlask==3.1.2\ngunicorn==23.0.0\nproxy.py==2.4.10\n"
        )
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

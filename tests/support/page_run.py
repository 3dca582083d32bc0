"""Makes a synthetic run with data for every chart of the page.

`python tests/support/page_run.py FOLDER` writes it; `python3 -m bench build FOLDER` then builds its page.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from make_run import (
    DATABASE_S,
    LOADGEN_S,
    UPSTREAM_S,
    entry,
    output_of,
    write_knee,
    write_latencies,
    write_measurement,
    write_run,
)

ROUNDS = 3
SPEEDS = {"uvicorn-asgi": 5200, "aiohttp": 4300, "bjoern-wsgi": 6100, "tornado": 2600, "gunicorn-gevent-flask": 1450}
SPEEDS |= {"gunicorn-sync-flask": 1230, "gunicorn-sync-wsgi": 2050, "uvicorn-blacksheep": 3900, "werkzeug-flask": 610}
PYTHONS = {"3.12": 0.93, "3.13": 1.0, "3.14": 1.09}
VARIED = ("uvicorn-asgi", "aiohttp", "tornado", "gunicorn-gevent-flask", "gunicorn-sync-flask", "werkzeug-flask")
KNEES = {"uvicorn-asgi": 3000, "aiohttp": 2000}
NULL = {"service": "null", "server": "null", "framework": "null", "python": "null", "base": "null", "mode": "null"}


def solo_lines() -> list[dict[str, Any]]:
    cells = [
        *((stack, "3.13", "json", "wrk", level) for stack in SPEEDS for level in ("c16", "c64")),
        *((stack, python, "json", "wrk", "c64") for stack in VARIED for python in ("3.12", "3.14")),
        *((stack, "3.13", "db-raw", "wrk", "c64") for stack in SPEEDS),
        *((stack, "3.13", "json", "vegeta", "r2000") for stack in SPEEDS if SPEEDS[stack] > 2000),
        *((stack, "3.13", "json", "vegeta", "knee-p99-50ms") for stack in KNEES),
    ]
    lines = []
    for round_number in range(1, ROUNDS + 1):
        order = random.Random(round_number).sample(cells, len(cells))
        order += [(stack, "3.13", "plaintext", "wrk", "c16") for stack in SPEEDS]
        for number, (stack, python, scenario, tool, level) in enumerate(order, 1):
            lines.append(entry(stack, scenario, tool, level, python=python, number=number, round=round_number))
        lines.append(entry("aiohttp", "plaintext", "wrk", "c64", number=len(order) + 1, round=round_number, **NULL))
    return lines


def write(folder: Path) -> Path:
    solo = solo_lines()
    settings = {"WORKERS": "1", "SERVER_CPUS": "0", "MAX_FOREIGN_CPU": "5", "MAX_STEAL": "1"}
    write_run(folder, solo, title="A made-up run for the page", knobs=settings)
    rng, clock = random.Random(3), Clock()
    for line in solo:
        _write_solo(folder, line, rng, clock)
    for line in solo[:3]:
        checks = [{"route": "json", "check": "Status", "ok": True, "expected": None, "got": None}]
        saved = folder / "raw/services" / line["service"] / "verify.json"
        saved.write_text(json.dumps({"passed": 18, "failed": 0, "skipped": 1, "checks": checks}))
    return folder


class Clock:
    """Consecutive windows, each with the host's CPU pressure."""

    def __init__(self) -> None:
        self.now_ns = 1_700_000_000 * 10**9
        self.stalled_us = 0

    def window(self, rng: random.Random, cpu_s: float = 1.0, foreign_s: float = 0.0, steal: int = 0) -> dict[str, Any]:
        start, self.now_ns = self.now_ns, self.now_ns + 8 * 10**9
        before, self.stalled_us = self.stalled_us, self.stalled_us + round(rng.uniform(0.2, 1.2) * 1e6)
        busy = 100 + round(100 * (cpu_s + LOADGEN_S + DATABASE_S + UPSTREAM_S + 0.15 * rng.random() + foreign_s))
        idle = 800 + 600 - (busy - 100) - steal
        sides = {
            "before": _counters("1000000000", "cpu  100 0 100 800 0 0 0 0 0 0", before),
            "after": _counters("2500000000", f"cpu  {busy} 0 100 {idle} 0 0 0 {steal} 0 0", self.stalled_us),
        }
        waits = {"seen_ns": str(start), "waited_ns": "0"}
        return sides | {"start_ns": start, "end_ns": start + 6 * 10**9, "waits": waits}


def _counters(usage: str, stat: str, stalled: int) -> dict[str, Any]:
    some = f"some avg10=1.00 avg60=1.00 avg300=1.00 total={stalled}"
    pressure = f"{some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0"
    return {"loadgen": {"cpuacct.usage": usage}, "proc_stat": stat, "pressure_cpu": pressure}


def _write_solo(folder: Path, line: Mapping[str, Any], rng: random.Random, clock: Clock) -> None:
    stack = "null" if line.get("mode") == "null" else line["service"].rpartition("-py")[0]
    # In a few windows of the second round, another program uses the CPU.
    noisy = line["round"] == 2 and line["position"] in (12, 13, 14, 40)
    cpu_s = 0.5 + 1500 / SPEEDS.get(stack, 6000) / 3
    tool = clock.window(rng, cpu_s, foreign_s=0.6 if noisy else 0.0, steal=9 if noisy and line["position"] == 40 else 0)
    factor = PYTHONS.get(line["python"], 1.0) * {"c16": 0.93}.get(line["level"], 1.0)
    factor *= {"db-raw": 0.4}.get(line["scenario"], 1.0) * (1 + rng.gauss(0, 0.015))
    if stack == "null":
        write_measurement(folder, line, output_of(line, 16_000 * factor), cpu_s=cpu_s, tool=tool)
    elif line["tool"] == "wrk":
        # Flask's own server answers one in fifty requests with 500; tornado on Python 3.12 dies under load.
        bad = 60 if stack == "werkzeug-flask" else 0
        died = stack == "tornado" and line["python"] == "3.12"
        meta = {"outcome": "died", "detail": "exit status 139 under load"} if died else {}
        output = output_of(line, SPEEDS[stack] * factor, bad)
        peak = {"memory_loaded_bytes": (40 + len(stack) * 3) << 20}
        write_measurement(folder, line, output, cpu_s=cpu_s, tool=tool, meta=meta, after=peak)
    else:
        asked = dict(line) | ({"rate": KNEES[stack]} if line["knee_p99_s"] else {})
        write_measurement(folder, asked, output_of(asked, asked["rate"]), cpu_s=cpu_s, tool=tool)
        write_latencies(folder, line, asked["rate"], round(3_000_000 * 6000 / SPEEDS[stack]))
        if line["knee_p99_s"]:
            write_knee(folder, line, asked["rate"], "r01" if line["round"] > 1 else None)


if __name__ == "__main__":
    write(Path(sys.argv[1]))

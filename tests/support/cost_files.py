"""Files as scripts/profile.sh --table saves them."""

from __future__ import annotations

import json
from pathlib import Path

WRK = """Running 1s test @ http://svc:8080/json
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.00ms    0.10ms   5.00ms   90.00%
    Req/Sec     1.00k     0.10k    2.00k    80.00%
  {requests} requests in 1.00s, 1.00MB read
{bad}Requests/sec:   1000.00
Transfer/sec:      1.00MB
"""


def save(folder: Path, name: str, requests: int, cpu_ns: int, bad: str = "") -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.wrk").write_text(WRK.format(requests=requests, bad=bad))
    (folder / f"{name}.before").write_text("cgroup v1\ncpu_usage_ns 1000\n")
    (folder / f"{name}.after").write_text(f"cgroup v1\ncpu_usage_ns {1000 + cpu_ns}\npids 1 2\n")


def calls(path: str | None = "/json", **other: object) -> dict[str, object]:
    usual = {"requests": 10, "wrong": 0, "cpu_ns": 5_000, "body_bytes": 270, "content_type": "application/json"}
    return {"path": path, **usual, **other}


def write(file: Path, *lines: dict[str, object]) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

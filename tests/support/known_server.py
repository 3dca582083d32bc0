"""The server of known behaviour (services/frameworks/synthetic/bad_day.py) under an event, without Docker.

The client, the watch of the driver, the raw files and the record are those of a run; only the container is none.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from make_run import entry
from pretend_engine import PretendEngine, made_run

from bench.drive.step_file import Patience, load_of
from bench.load.event import run_event
from bench.load.task import task_of
from bench.plan.events.event import Event, as_dict
from bench.plan.measurement import Measurement, measurement_of
from bench.records.event import EventRecord
from bench.records.make_event import event_record
from bench.run.reader import read_raw
from calibration.events import Known
from driver.engines.engine import Engine
from driver.messages import Doings
from driver.processes import Processes, all_pids, processes_of
from driver.steps.events import acting

SERVER = Path("services/frameworks/synthetic/bad_day.py").resolve()
RATE = 100.0
PLAIN = ("/plaintext", b"Hello, World!")
PATHS = {"slow": PLAIN, "memory": PLAIN, "balance": PLAIN}
DELAYED = ("/?duration=50", b'{"duration":50}')


class OnThisMachine(PretendEngine):
    """Its service is a process here."""

    cannot_act = ""

    def __init__(self, root: Path, pid: int) -> None:
        super().__init__(made_run(root, "a"))
        self.pid = pid

    def processes(self, service: str) -> Processes:
        return processes_of(self.pid)

    def usage(self, service: str) -> tuple[int | None, int | None]:
        return None, sum(map(_own_memory, all_pids(self.pid)))

    def descriptors(self, service: str) -> int | None:
        return sum(len([*Path(f"/proc/{pid}/fd").iterdir()]) for pid in all_pids(self.pid))

    def signal(self, service: str, signal_name: str, pid: int) -> int | None:
        now = time.time_ns()
        os.kill(pid, getattr(signal, f"SIG{signal_name}"))
        return now


def _own_memory(pid: int) -> int:
    """Bytes that it shares with no file."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")), 0)


def happened(root: Path, event: Event, known: Known) -> tuple[EventRecord, dict[str, int]]:
    """(the record of the event, what the server's own workers have counted, as far as they could say it)."""
    path, body = PATHS.get(event.name, DELAYED)
    with serving(root, known, event.environment) as (process, port):
        record = under_event(root, event, OnThisMachine(root / "engine", process.pid), (port, path, body))
    told: dict[str, int] = {}
    for line_of_one in (root / "told").read_text().splitlines():
        counts = json.loads(line_of_one)
        told[f"answered by {counts.pop('pid')}"] = counts["answered"]
        for name, count in counts.items():
            told[name] = told.get(name, 0) + count
    return record, told


def under_event(root: Path, event: Event, engine: Engine, asked: tuple[int, str, bytes]) -> EventRecord:
    """The record of what serves on this machine; `asked` is its port, a path, and what is answered there."""
    port, path, body = asked
    line = entry("gunicorn-sync-wsgi", "delay-50") | {"tool": "sockets", "level": event.level, "event": as_dict(event)}
    line |= {"dir": f"raw/r01/0001/delay-50/sockets-{event.level}/w1/{line['service']}", "connections": None}
    planned = measurement_of(json.loads(json.dumps(line)))
    assert isinstance(planned, Measurement), planned
    loaded = planned.as_dict() | {"url": f"http://127.0.0.1:{port}", "path": path, "timeout_s": event.timeout_s}
    task = task_of(str(root), load_of(loaded, Patience()))
    task.folder.mkdir(parents=True)
    facts: dict[str, Any] = {"rate": RATE / 0.3, "told": engine.processes("a").workers}
    facts |= {"expected": base64.b64encode(body).decode()}
    (task.folder / "capacity.json").write_text(json.dumps(facts))
    doings = Doings(
        event.actions,
        event.until,
        event.settle_s,
        event.seconds,
        event.environment,
        event.watches,
        event.repeats,
    )
    with acting(engine, "a", doings, task.folder):
        run_event(task)
    (task.folder / "meta.json").write_text(json.dumps({"id": planned.id, "outcome": "measured", "detail": ""}))
    return event_record(str(root), planned, read_raw(str(root), planned))


@contextmanager
def serving(root: Path, known: Known, more: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The server, with its port; it has ended afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment: dict[str, Any] = {**os.environ, **more, "PORT": str(port), "PYTHONPATH": "services"}
    environment["BAD_DAY"] = "&".join(f"{name}={value:g}" for name, value in asdict(known).items())
    with (root / "told").open("wb") as told:
        process = subprocess.Popen([sys.executable, str(SERVER)], env=environment, stdout=told)
        try:
            until = time.monotonic() + 20
            while time.monotonic() < until:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as one:
                    one.sendall(b"GET /plaintext HTTP/1.1\r\nConnection: close\r\n\r\n")
                    if one.recv(4096):
                        break
                time.sleep(0.02)
            yield process, port
        finally:
            process.terminate()
            process.wait(20)

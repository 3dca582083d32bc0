"""The server with known behaviour (services/frameworks/synthetic/bad_day.py) under an event, without Docker.

Client, driver, raw files and record are real; only the container is replaced by a process.
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from make_run import entry
from pretend_engine import PretendEngine, made_run
from waiting import HANGS_S, until

from bench.core.typed import as_plain
from bench.load.event import run_event
from bench.load.task import task_of
from bench.plan.event import Event
from bench.plan.measurement import planned_of
from bench.records.event import EventRecord
from bench.records.make_event import event_record
from bench.run.reader import read_raw
from calibration.checks import Check, Known
from calibration.events import checks
from driver.engines.engine import Container, End, Engine
from driver.messages import doings_of
from driver.processes import Processes, all_pids, processes_of
from driver.steps.events import Dependencies, acting

SERVER = Path("services/frameworks/synthetic/bad_day.py").resolve()
RATE = 100.0
PLAIN = ("/plaintext", b"Hello, World!")
PATHS = {"slow": PLAIN, "memory": PLAIN, "balance": PLAIN, "exhausted": ("/held/0", PLAIN[1])}
DELAYED = ("/?duration=50", b'{"duration":50}')


@dataclass
class Server:
    """A server with known behaviour; its workers write their counts to `told`."""

    host: str
    port: int
    environment: Mapping[str, str]
    told: Path

    def start(self) -> None:
        environment = {**self.environment, "HOST": self.host, "PORT": str(self.port)}
        with self.told.open("ab") as told:
            self.process = subprocess.Popen([sys.executable, str(SERVER)], env=environment, stdout=told)

    def answers(self) -> bool:
        with suppress(OSError), socket.create_connection((self.host or "127.0.0.1", self.port), HANGS_S) as one:
            one.sendall(b"GET /plaintext HTTP/1.1\r\nConnection: close\r\n\r\n")
            return bool(one.recv(4096))
        return False


class OnThisMachine(PretendEngine):
    """An engine whose service is a process on this machine."""

    cannot_act = ""

    def __init__(self, root: Path, servers: list[Server]) -> None:
        super().__init__(made_run(root, "a"))
        self.servers = servers

    @property
    def pid(self) -> int:
        """The pid of the first server; 0 if there is none."""
        return self.servers[0].process.pid if self.servers else 0

    def processes(self, service: str) -> Processes:
        return processes_of(self.pid)

    def container_facts(self, service: str, number: int) -> Container:
        server = self.servers[number - 1]
        return Container(True, address=f"{server.host}:{server.port}", pid=server.process.pid)

    def stop_container(self, service: str, number: int, grace_s: float, every_process: bool) -> End:
        process = self.servers[number - 1].process
        for pid in all_pids(process.pid) if every_process else [process.pid]:
            os.kill(pid, signal.SIGTERM)
        return End(code=process.wait(grace_s), at_ns=time.time_ns())

    def start_container(self, service: str, number: int) -> None:
        self.servers[number - 1].start()

    def usage(self, service: str) -> tuple[int | None, int | None]:
        return None, sum(map(_own_memory, all_pids(self.pid)))

    def descriptors(self, service: str) -> int | None:
        return sum(len([*Path(f"/proc/{pid}/fd").iterdir()]) for pid in all_pids(self.pid))

    def signal(self, service: str, signal_name: str, pid: int) -> int | None:
        now = time.time_ns()
        os.kill(pid, getattr(signal, f"SIG{signal_name}"))
        return now


def _own_memory(pid: int) -> int:
    """Bytes of anonymous memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")), 0)


def happened(root: Path, event: Event, known: Known) -> tuple[EventRecord, dict[str, int]]:
    """(the record of the event, the counts of the server's workers, as far as these could write them)."""
    path, body = PATHS.get(event.name, DELAYED)
    hosts = [f"127.0.0.{number}" for number in (2, 3)] if event.proxy else [""]
    with serving(root, known, event.environment, hosts) as (started, port):
        addresses = [f"{host}:{port}" for host in hosts]
        with patch("bench.events.rolling.load.addresses", lambda *_: addresses):
            record = under_event(root, event, OnThisMachine(root / "engine", started), (port, path, body))
    told: dict[str, int] = {}
    for line_of_one in (root / "told").read_text().splitlines():
        counts = json.loads(line_of_one)
        told[f"answered by {counts.pop('pid')}"] = counts["answered"]
        for name, count in counts.items():
            told[name] = told.get(name, 0) + count
    return record, told


def wrong(record: EventRecord, known: Known) -> list[Check]:
    """The checks that fail, except for a client that had to wait for a CPU, which does not change counts."""
    failed = [check for check in checks(record, known) if not check.holds]
    return [check for check in failed if not check.measured.startswith("the client was starved")]


def under_event(root: Path, event: Event, engine: Engine, asked: tuple[int, str, bytes]) -> EventRecord:
    """The record of an event on a server on this machine; `asked`: its port, a path, and the expected answer."""
    port, path, body = asked
    line = entry("gunicorn-sync-wsgi", "delay-50") | {"tool": "sockets", "level": event.level, "event": as_plain(event)}
    line |= {"dir": f"raw/r01/0001/delay-50/sockets-{event.level}/w1/{line['service']}", "connections": None}
    planned = planned_of(json.loads(json.dumps(line)))
    exchange = replace(planned.exchange, path=path)
    loaded = replace(planned, url=f"http://127.0.0.1:{port}", exchange=exchange, timeout_s=event.timeout_s)
    task = task_of(str(root), loaded)
    task.folder.mkdir(parents=True)
    facts: dict[str, Any] = {"rate": RATE / 0.3, "told": engine.processes("a").workers}
    facts |= {"expected": base64.b64encode(body).decode()}
    (task.folder / "capacity.json").write_text(json.dumps(facts))
    with acting(Dependencies(engine), "a", doings_of(as_plain(event)), task.folder):
        run_event(task)
    (task.folder / "meta.json").write_text(json.dumps({"id": planned.id, "outcome": "measured", "detail": ""}))
    return event_record(str(root), planned, read_raw(str(root), planned))


@contextmanager
def serving(
    root: Path, known: Known, more: Mapping[str, str], hosts: Sequence[str] = ("",)
) -> Iterator[tuple[list[Server], int]]:
    """Starts a server at each of these addresses; yields them with their port, and ends them afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    behaviour = "&".join(f"{name}={value:g}" for name, value in asdict(known).items())
    environment = {**os.environ, **more, "PYTHONPATH": "services", "BAD_DAY": behaviour}
    servers = [Server(host, port, environment, root / "told") for host in hosts]
    for server in servers:
        server.start()
    try:
        for server in servers:
            until(server.answers)
        yield servers, port
    finally:
        for server in servers:
            server.process.terminate()
            server.process.wait(HANGS_S)

"""A block of services: waited for, warmed up together, loaded in turns, table by table.

Runs in the load generator's container. Reads RUN/step.jsonl (the plan's lines of the block) and RUN/containers.tsv (the
cgroup of each container); what `loadgen/measure` does for one service it is asked to do for each of them.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import as_object, write_file
from bench.load.cpu_counters import CpuCounters, cgroup_root
from bench.load.discover import find_cgroups
from bench.load.held_tool import HeldTool
from bench.load.turns import Runner, Turns, run_window
from bench.plan.measurement import Measurement, measurement_of

MEASURE = "loadgen/measure"
LINES, CONTAINERS = "step.jsonl", "containers.tsv"
PORT = 8080
SHARED = ("postgres", "upstream")
"""What all services of a block ask: the CPU time of a turn is its service's."""
LEAST_QUIET_S, MOST_QUIET_S = 0.02, 0.5
"""A service that has not worked or answered for so long has nothing under way."""
INTERRUPTED = {"ab": 1}
"""The exit status of a tool that was told to end and printed its result; 0 for the others."""
SYSCTLS = ("net.ipv4.ip_local_port_range", "net.ipv4.tcp_tw_reuse", "net.ipv4.tcp_max_tw_buckets")


@dataclass(frozen=True, slots=True)
class Block:
    """The measurements of a block by table (and window), in the order of the plan."""

    run: Path
    windows: tuple[tuple[Measurement, ...], ...]
    folder: Path

    @property
    def services(self) -> dict[str, Measurement]:
        """A measurement of each service."""
        return {one.service: one for window in self.windows for one in window}

    def failed(self, service: str) -> bool:
        """Whether it did not start, or answered wrongly: it is not loaded any further."""
        file = self.folder / "services" / f"{service}.status"
        return file.exists() and file.read_text().strip() != "0"


def read_block(run: Path) -> Block:
    """The block that RUN/step.jsonl describes."""
    windows: dict[tuple[Any, ...], list[Measurement]] = {}
    for line in (run / LINES).read_bytes().splitlines():
        one = measurement_of(as_object(line))
        if isinstance(one, str):
            raise UserError(f"{run / LINES}: {one}")
        windows.setdefault((one.scenario, one.tool, one.level, one.window), []).append(one)
    if not windows:
        raise UserError(f"{run / LINES} is empty")
    first = next(iter(windows.values()))[0]
    return Block(run, tuple(map(tuple, windows.values())), run / "/".join(first.dir.split("/")[:4]))


def wait_until_ready(block: Block) -> None:
    """Wait for the first good answer of every service, all at once."""
    (block.folder / "services").mkdir(parents=True, exist_ok=True)
    _measure_all(block, "ready", block.services.values())


def load_block(block: Block, seed: str) -> None:
    """Warm up, load and save every window of the block."""
    counters = CpuCounters(_cgroups(block))
    for window in block.windows:
        _measure_all(block, "prepare", [one for one in window if not block.failed(one.service)])
        ready = [one for one in window if not block.failed(one.service)]
        if ready:
            _load_window(block, ready, counters, random.Random(f"{seed} {ready[0].id}"))


def _measure_all(block: Block, verb: str, measurements: Iterable[Measurement]) -> None:
    """`loadgen/measure VERB` for these at the same time; what it says, and its status, by service."""
    started = []
    for one in measurements:
        said = block.folder / "services" / f"{one.service}.txt"
        with said.open("ab") as output:
            command = [MEASURE, verb, str(block.run), _load_name(one)]
            started.append((one, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)))
    for one, process in started:
        (block.folder / "services" / f"{one.service}.status").write_text(f"{process.wait()}\n")


def _load_window(block: Block, window: Sequence[Measurement], counters: CpuCounters, rng: random.Random) -> None:
    first = window[0]
    commands = {one.service: _command(block, one) for one in window}
    with ExitStack() as stack:
        runners = []
        for one in window:
            folder = block.run / one.dir
            folder.mkdir(parents=True, exist_ok=True)
            tool = stack.enter_context(HeldTool(commands[one.service][1], folder / ".output.txt.tmp"))
            peer = (socket.gethostbyname(one.service), PORT)
            runners.append(Runner(one.service, tool, peer, _quiet_s(block, one.service)))
        began = time.time_ns()
        taken = run_window(
            runners, counters, SHARED, seconds=first.duration_s or 1.0, turn_s=first.turn_s or 0.1, rng=rng
        )
        ended = time.time_ns()
        statuses = {runner.service: runner.tool.status for runner in runners}
    health = _health(block, window)
    for one in window:
        version, argv = commands[one.service]
        status = statuses[one.service]
        told = {"schema": 1, "tool": one.tool, "tool_version": version or None, "argv": argv, "stdin": None}
        told |= {"exit_status": 0 if status == INTERRUPTED.get(one.tool, 0) else status}
        told |= {"start_ns": began, "end_ns": ended, "limits": _limits(), "sysctls": _sysctls()}
        told |= {"health_after": health[one.service], "turns": _turns(taken[one.service], counters.missing)}
        folder = block.run / one.dir
        (folder / ".output.txt.tmp").replace(folder / "output.txt")
        write_file(folder / "tool.json", json.dumps(told, separators=(",", ":")) + "\n")


def _quiet_s(block: Block, service: str) -> float:
    """How long a service may take for one answer: half as much again as the last one that was asked for alone."""
    said = (block.folder / "services" / f"{service}.txt").read_text(errors="replace")
    took = [line.partition(" ")[2] for line in said.splitlines() if line.startswith("answer ")]
    try:
        return min(MOST_QUIET_S, max(LEAST_QUIET_S, 1.5 * float(took[-1])))
    except (IndexError, ValueError):
        return LEAST_QUIET_S


def _command(block: Block, one: Measurement) -> tuple[str, list[str]]:
    """The tool's version, and its command line."""
    done = subprocess.run(
        [MEASURE, "argv", str(block.run), _load_name(one)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UserError(done.stderr.strip().rpartition("\n")[2])
    version, *argv = done.stdout.split("\0")[:-1]
    return version, argv


def _health(block: Block, window: Sequence[Measurement]) -> dict[str, dict[str, Any]]:
    """Whether each service still answers, as tool.json has it."""
    checks = {}
    for one in window:
        command = [MEASURE, "ready", str(block.run), _load_name(one)]
        env = {**os.environ, "READY_TIMEOUT": "5"}
        checks[one.service] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)
    found = {}
    for service, process in checks.items():
        said = process.communicate()[0].decode(errors="replace").strip()
        good = process.returncode == 0
        found[service] = {"status": 200 if good else None, "time_s": None, "error": None if good else said}
    return found


def _turns(turns: Turns, missing: Mapping[str, str]) -> dict[str, Any]:
    """The part of tool.json that says what happened in a service's own turns."""
    return {
        "count": turns.count,
        "load_ns": turns.load_ns,
        "drain_ns": turns.drain_ns,
        "drains_cut": turns.drains_cut,
        "cpu_ns": turns.cpu_ns,
        "host_ticks": turns.host_ticks,
        "each_ns": turns.each_ns,
        "missing": dict(missing),
    }


def _limits() -> dict[str, int | None]:
    nofile = os.sysconf("SC_OPEN_MAX")
    return {"nofile": nofile, "cpus": len(os.sched_getaffinity(0)), "host_cpus": os.cpu_count()}


def _sysctls() -> dict[str, str]:
    found = {}
    for name in SYSCTLS:
        file = Path("/proc/sys") / name.replace(".", "/")
        if file.exists():
            found[name] = file.read_text().strip()
    return found


def _cgroups(block: Block) -> dict[str, str]:
    """The folder of each container below the host's cgroup root: as the host has written it, else as found here."""
    file = block.run / CONTAINERS
    if not file.exists():
        return find_cgroups([*block.services, *SHARED], cgroup_root())
    return {name: folder for name, _, folder in (line.partition("\t") for line in file.read_text().splitlines())}


def _load_name(one: Measurement) -> str:
    """Its load in step.sh (see `bench.drive.step_file.load_name`)."""
    return "".join(mark if mark.isascii() and mark.isalnum() else "_" for mark in one.id)

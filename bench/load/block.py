"""A block of services: waited for, warmed up together, loaded in turns, table by table.

Runs in the load generator's container. Reads RUN/step.jsonl (the plan's lines of the block), RUN/step.json (its loads)
and RUN/containers.tsv (the cgroup of each container).
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import as_object, check_room, mapping, read_bytes
from bench.load.cpu_counters import CpuCounters, cgroup_root
from bench.load.discover import address_of, find_cgroups
from bench.load.failed import NO_ANSWER, Failed, explained
from bench.load.far_counters import FarCounters, far_reader
from bench.load.freezer import Freezer, freezer_of
from bench.load.held_tool import HeldTool
from bench.load.measure import prepare, ready
from bench.load.noisy_windows import retries_of
from bench.load.one_answer import one_answer, quiet_s, rest_s
from bench.load.step_json import StepLoads, read_loads
from bench.load.task import Say, Task, at_address, command_of, task_of
from bench.load.turns import Runner, Turns, run_window
from bench.load.turns_file import Span, WindowLoad, save_turns
from bench.plan.cpus import parse_list
from bench.plan.measurement import Measurement, measurement_of
from bench.records.clock_step import is_clock_step
from bench.run.folder import host_and_port, read_addresses
from bench.run.spoiled import set_aside
from bench.tools import TOOLS

LINES, CONTAINERS = "step.jsonl", "containers.tsv"
PORT = 8080
SHARED = ("postgres", "upstream")
ENOUGH_PER_CONNECTION, MOST_LONGER = 4, 4.0
"""A window with so many answers for each connection counts. For that, a slow service is loaded longer, to a limit."""
UNEXPECTED = 1
"""The status of a failure that nobody has foreseen."""
HEALTH_S = "5"
"""How long a service may take for its first good answer after its load, in seconds."""
CLOCK_RETRIES = 2
"""How often a window is measured again because the time of day was set in it."""
LATE_RETRIES = 2
"""How often one is because responses came after their turns: by then it is known how long they take."""
NOWHERE = "/not-found"
"""No cgroup's folder."""
_NUMBER = re.compile(r"\d+(\.\d+)?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Block:
    """The measurements of a block by table (and window), in the order of the plan; and their loads, by their ids."""

    run: Path
    windows: tuple[tuple[Measurement, ...], ...]
    folder: Path
    loads: StepLoads

    @property
    def services(self) -> dict[str, Measurement]:
        """A measurement of each service."""
        return {one.service: one for window in self.windows for one in window}

    def failed(self, service: str) -> bool:
        """Whether it did not start, or answered wrongly: it is not loaded any further."""
        file = self._file(service, "status")
        return file.exists() and file.read_text().strip() != "0"

    def still(self, window: Iterable[Measurement]) -> list[Measurement]:
        """Those of a window whose service has not failed."""
        return [one for one in window if not self.failed(one.service)]

    def task(self, one: Measurement) -> Task:
        """The load of a measurement."""
        return task_of(str(self.run), self.loads.loads[one.id])

    def say(self, service: str, line: str) -> None:
        """Keep a line of what was said of a service."""
        with self._file(service, "txt").open("a", errors="backslashreplace") as file:
            file.write(f"{line}\n")

    def said(self, service: str) -> dict[str, float]:
        """The last of each kind of line that was said: `answer SECONDS`, `warmed RESPONSES`."""
        text = self._file(service, "txt").read_text(errors="replace")
        words = (line.split() for line in text.splitlines())
        return {pair[0]: float(pair[1]) for pair in words if len(pair) == 2 and _NUMBER.match(pair[1])}

    def note(self, service: str, status: int) -> None:
        """Keep how the last verb ended for a service; it has failed unless that is 0."""
        self._file(service, "status").write_text(f"{status}\n")

    def _file(self, service: str, kind: str) -> Path:
        return self.folder / "services" / f"{service}.{kind}"


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
    try:
        loads = read_loads(str(run))
    except Failed as failure:
        raise UserError(str(failure)) from failure
    return Block(run, tuple(map(tuple, windows.values())), run / "/".join(first.dir.split("/")[:4]), loads)


def wait_until_ready(block: Block) -> None:
    """Wait for the first good answer of every service that has started, all at once."""
    (block.folder / "services").mkdir(parents=True, exist_ok=True)
    _of_each(block, block.still(block.services.values()), ready)


def load_block(block: Block, seed: str) -> None:
    """Warm up, load and save every window of the block."""
    counters, retries = CpuCounters(_cgroups(block), server_cpus=server_cpus_of(block.run)), retries_of(block.run)
    freezer = freezer_of(block.run)
    rests_s: dict[str, float] = {}
    versions: dict[str, str] = {}
    for window in block.windows:
        steps: list[bool] = []
        late = 0
        _of_each(block, block.still(window), prepare)
        while loads := _loads(block, block.still(window), versions):
            rng = random.Random(f"{seed} {loads[0].planned.id}")
            taken, stepped = _load_window(block, loads, counters, rng, rests_s=rests_s, freezer=freezer)
            steps.append(stepped)
            too_late = any(turns.too_late for turns in taken.values())
            late += too_late
            rests_s |= {name: turns.rest_s for name, turns in taken.items() if turns.late}
            # The CPU time of a server outside of all containers cannot be told from that of other programs.
            counted = [taken[load.planned.service] for load in loads if not load.planned.url]
            noisy = not counters.missing and retries.wanted(window, counted, counters.host_cpus)
            again = too_late and late <= LATE_RETRIES
            if not noisy and not again and not (stepped and sum(steps) <= CLOCK_RETRIES):
                break
            set_aside((block.run / window[0].dir).parent)


def _of_each(block: Block, measurements: Sequence[Measurement], act: Callable[[Task, Say], None]) -> None:
    """Do it for these at the same time, and keep what was said and how it ended, of each service."""
    for one, (status, said) in zip(measurements, _at_once(block, measurements, act), strict=True):
        for line in said:
            block.say(one.service, line)
        block.note(one.service, status)


def _at_once(
    block: Block, measurements: Sequence[Measurement], act: Callable[[Task, Say], None]
) -> list[tuple[int, list[str]]]:
    """The status with which it ended for each, and its lines: the last one says what went wrong."""
    found: list[tuple[int, list[str]]] = [(UNEXPECTED, []) for _ in measurements]

    def do(number: int, one: Measurement) -> None:
        said, status = list[str](), 0
        try:
            act(block.task(one), said.append)
        except Exception as error:  # it is this service's alone
            status = error.status if isinstance(error, Failed) else UNEXPECTED
            said.append(f"measure: {explained(error)}")
        found[number] = (status, said)

    threads = [threading.Thread(target=do, args=pair, daemon=True) for pair in enumerate(measurements)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _loads(block: Block, measurements: Sequence[Measurement], versions: dict[str, str]) -> list[WindowLoad]:
    """The loads of a window. A service that has none (it is gone, its tool cannot make it) fails, and no other.

    `versions` are those of the tools that were asked before.
    """
    found, addresses = [], read_addresses(block.run)
    for one in measurements:
        host, port = host_and_port(addresses[one.service], PORT) if one.service in addresses else one.reached_at(PORT)
        if (address := address_of(host)) is None:
            block.say(one.service, f"{one.service} has no address any more")
            block.note(one.service, NO_ANSWER)
            continue
        try:
            task = block.task(one)
            argv = command_of(task.tool, at_address(task.load, host, address)).argv
        except Failed as failure:
            block.say(one.service, f"measure: {failure}")
            block.note(one.service, failure.status)
            continue
        if one.tool not in versions:
            versions[one.tool] = task.tool.version()
        found.append(WindowLoad(one, versions[one.tool], argv, (address, port)))
    return found


def _load_window(
    block: Block,
    loads: Sequence[WindowLoad],
    counters: CpuCounters,
    rng: random.Random,
    *,
    rests_s: Mapping[str, float],
    freezer: Freezer | None,
) -> tuple[dict[str, Turns], bool]:
    """The turns by service, and whether the time of day was set meanwhile."""
    first = loads[0].planned
    with ExitStack() as stack:
        runners = []
        for load in loads:
            folder = block.run / load.planned.dir
            folder.mkdir(parents=True, exist_ok=True)
            block.task(load.planned).write_body()
            tool = stack.enter_context(HeldTool(load.argv, folder / ".output.txt.tmp"))
            said = block.said(load.planned.service)
            one = one_answer(load.planned, load.peer)
            answer = one.all_s if one else said.get("answer")
            seconds = seconds_for(load.planned, said.get("warmed"), len(loads))
            quiet = (quiet_s(answer, load.planned.connections or 1), quiet_s(answer, 1))
            frozen = TOOLS[load.planned.tool].ends_frozen and not load.planned.url
            rest = max(rest_s(one), rests_s.get(load.planned.service, 0.0))
            runners.append(Runner(load.planned.service, tool, load.peer, *quiet, seconds, frozen, rest))
        began, clock = time.time_ns(), time.monotonic_ns()
        # What all of them ask: the CPU time of a turn is its service's.
        shared = [name for name in counters.names if name not in block.services]
        taken = run_window(runners, counters, shared, turn_s=first.turn_s or 0.1, rng=rng, freezer=freezer)
        span = Span(began, time.time_ns(), time.monotonic_ns() - clock)
        check_room(block.run)
    health = _health(block, [load.planned for load in loads])
    for load, runner in zip(loads, runners, strict=True):
        save_turns(
            block.run / load.planned.dir,
            load,
            runner.tool,
            span=span,
            turns=taken[load.planned.service],
            counters=counters,
            health=health[load.planned.service],
        )
    return taken, is_clock_step(span.step_s, span.elapsed_ns / 1e9)


def seconds_for(one: Measurement, warmed: float | None, services: int) -> float:
    """Seconds of load in which a service gives enough answers to count, at most `MOST_LONGER` times what is planned.

    In the warm-up it gave `warmed` answers while so many services shared the CPU; alone it gives more, and half of what
    an even share would mean is counted on.
    """
    planned = one.duration_s or 1.0
    if not warmed or not one.warmup_s:
        return planned
    rate = warmed / one.warmup_s * max(1.0, services / 2)
    return min(MOST_LONGER * planned, max(planned, ENOUGH_PER_CONNECTION * (one.connections or 1) / rate))


def _health(block: Block, window: Sequence[Measurement]) -> dict[str, dict[str, Any]]:
    """Whether each service still answers, as tool.json has it."""
    found: dict[str, dict[str, Any]] = {}
    ended = _at_once(block, window, lambda task, say: ready(task, say, HEALTH_S))
    for one, (status, said) in zip(window, ended, strict=True):
        found[one.service] = {"status": None if status else 200, "time_s": None, "error": said[-1] if status else None}
    return found


def server_cpus_of(run: Path) -> frozenset[int]:
    """The CPUs of the run's services while they are loaded; none where run.json does not say."""
    facts = as_object(read_bytes(str(run / "run.json")) or b"") or {}
    words = mapping(facts.get("knobs")).get("SERVER_CPUS")
    return frozenset(parse_list(words)) if isinstance(words, str) and words else frozenset()


def _cgroups(block: Block) -> dict[str, str | FarCounters]:
    """The folder of each container below the host's cgroup root: as the host has written it, else as found here.

    A third column of RUN/containers.tsv says where the reader of a container on another machine is.
    """
    file = block.run / CONTAINERS
    if not file.exists():
        names = [*block.services, *SHARED]
        return {**dict.fromkeys(names, NOWHERE), **find_cgroups(names, cgroup_root())}
    lines = [line.split("\t") for line in file.read_text().splitlines()]
    readers = {reader: far_reader(reader) for reader in {line[2] for line in lines if len(line) > 2}}
    return {name: readers[more[0]] if more else folder for name, folder, *more in lines}

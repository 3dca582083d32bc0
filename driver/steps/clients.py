"""Several load generators on one service (--loadgens): more containers, or on a swarm one per node.

Load generator N makes the load client_N of step.json.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Callable, Sequence
from time import time_ns

from driver.compose import in_tools
from driver.docker import DockerError, client, end, reach, spawn
from driver.engines.engine import Engine
from driver.files import last_line, save
from driver.messages import Step
from driver.nodes.loadgen import FarLoadgen
from driver.nodes.node import Node, nodes_of
from driver.parallel import together

AHEAD_NS, AHEAD_ON_NODES_NS = 10**9, 3 * 10**9
"""How far in the future the common start of the load is, so that `docker exec` has started all by then."""
ASK_TRIES, ASK_S = 8, 20.0
ASK = 'while read -r; do echo "${EPOCHREALTIME/[.,]/}000"; done'
HERE = "-\t0\t0\n"
"""A line of clients.tsv on this machine, where there is only one clock."""


def load_by_clients(engine: Engine, step: Step) -> int:
    """Starts all at the same moment; the status of the first that failed, whose last line goes to run.txt."""
    run = engine.run
    folder = run.folder / step.folders[0]
    numbers = range(1, len(step.clients) + 1)
    nodes = _nodes(engine, numbers)
    far = [FarLoadgen(run, node.context, run.container("loadgen")) for node in nodes]
    for path in folder.glob("client-*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

    def send(number: int) -> int:
        far[number - 1].send_inputs(step.dir)
        return 0

    def load(number: int) -> int:
        words = ["env", f"START_AT={begin_ns + ahead_ns[number - 1]}"]
        words += ["loadgen/measure", "run", f"results/{run.name}", f"client_{number}"]
        log = folder / f"client-{number}.txt"
        if not far:
            return engine.in_loadgen(words, log=log, folder=step.dir, number=number).status
        status = far[number - 1].do(words, log=log).status
        return status if far[number - 1].bring_home(step.dir) else status or 1

    status = _at_once(engine, step, send) if far else 0
    if status:
        return status
    try:
        clocks = "".join(map(_clock, numbers, nodes, far)) if far else HERE * len(numbers)
    except DockerError as error:
        save(run.folder / step.dir / "run.txt", f"{error}\n")
        return 1
    save(folder / "clients.tsv", clocks)
    ahead_ns = [int(line.split("\t")[1]) for line in clocks.splitlines()]
    begin_ns = time_ns() + (AHEAD_ON_NODES_NS if far else AHEAD_NS)
    return _at_once(engine, step, load)


def merge_clients(engine: Engine, step: Step) -> int:
    """Merges the outputs of all load generators; the exit status."""
    run = engine.run
    log, words = run.folder / step.dir / "run.txt", ("loadgen/measure", "merge", f"results/{run.name}")
    # On nodes, the outputs have been fetched to this machine.
    if nodes_of(run):
        return in_tools(run, *words, log=log, check=False).status
    return engine.in_loadgen(words, log=log).status


def _nodes(engine: Engine, numbers: Sequence[int]) -> list[Node]:
    """The node of each load generator; empty for a run on this machine."""
    nodes = nodes_of(engine.run)
    return [nodes["loadgen" if number == 1 else f"loadgen-{number}"] for number in numbers] if nodes else []


def _at_once(engine: Engine, step: Step, act: Callable[[int], int]) -> int:
    """Calls `act` for all numbers in parallel; the status of the first that failed."""
    folder = engine.run.folder / step.folders[0]

    def one(number: int) -> int:
        try:
            return act(number)
        except DockerError as error:
            save(folder / f"client-{number}.txt", f"{error}\n")
            return 1

    numbers = range(1, len(step.clients) + 1)
    for number, status in zip(numbers, together(one, numbers, len(numbers))):
        if status:
            save(
                engine.run.folder / step.dir / "run.txt",
                f"client {number}: {last_line(folder / f'client-{number}.txt')}\n",
            )
            return status
    return 0


def _clock(number: int, node: Node, loadgen: FarLoadgen) -> str:
    """A line of clients.tsv: how far the node's clock is ahead of this machine's, and the error of that, in ns."""
    words = ("exec", "--interactive", loadgen.container, "bash", "-c", ASK)
    argv = [client(), *reach(loadgen.context), *words]
    process = spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        # The fastest of several answers is the most exact; the error is half its round trip.
        took, ahead = min(_asked(process) for _ in range(ASK_TRIES))
    except (OSError, ValueError) as error:
        raise DockerError(f"client {number}: its clock cannot be read") from error
    finally:
        end(process)
    return f"{node.name}\t{ahead}\t{took // 2}\n"


def _asked(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """The round trip, and how far the clock there is ahead, in ns."""
    assert process.stdin and process.stdout
    before = time_ns()
    os.write(process.stdin.fileno(), b"\n")
    ready, _, _ = select.select([process.stdout], [], [], ASK_S)
    there = int(os.read(process.stdout.fileno(), 64)) if ready else int("")
    took = time_ns() - before
    return took, there - before - took // 2

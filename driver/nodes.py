"""The engine of a run on several machines, each with a Docker context: on a swarm, or on two machines without one.

The measuring loop is that of one machine. A lane of a run on several pairs of nodes has an engine of its own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from driver import contexts, registry
from driver.away import FarLoadgen, fill_volumes
from driver.choice import Lane, chosen_lanes, chosen_nodes, lanes_entry, of_largest_kinds
from driver.compose import FRESH, in_tools, project_compose
from driver.copies import HARNESS, copy_images
from driver.docker import DockerError, Done, docker
from driver.engine import Started
from driver.failure import RUN, USER, Failure, say, warn
from driver.far_compose import CHECKER, need_far_compose
from driver.files import save, text_of
from driver.local import LOADGEN, Facts, LocalDocker
from driver.node import (
    EVER,
    LANES,
    Node,
    nodes_of,
    read_addresses,
    read_lanes,
    read_nodes,
    role_of,
    save_nodes,
    several,
)
from driver.readers import ROLES as READ
from driver.readers import asked_at, need_readers, read_at, reader, start_reader, tell_readers
from driver.run import Run
from driver.stack import overlay_options
from driver.swarm_nodes import answer, find_manager, read_swarm
from driver.together import together

NETWORK_COST = "network-cost.txt"
"""What harness-cost.sh --network said last, below results/; in a run's folder, what it had said when that began."""
APART = "apart"
"""In the folder of a lane: whether load generator and server are on two kernels, yes or no."""


class Nodes(LocalDocker):
    """Compose and Docker on the engine of each service's machine."""

    def __init__(self, run: Run) -> None:
        parts = read_lanes(run)
        settings = {**run.settings, "BENCH_SUBNET": parts[run.lane - 1].subnet} if parts else run.settings
        self.on_swarm = several(run) == "swarm"
        # It verifies where the database is.
        more = () if self.on_swarm or CHECKER in run.dependencies else (CHECKER,)
        host = replace(run.host, dependencies=(*run.dependencies, *more))
        super().__init__(replace(run, settings=settings, host=host))
        self.nodes = nodes_of(run)

    def context_of(self, service: str) -> str:
        """As LocalDocker has it."""
        return self.nodes[role_of(service)].context

    def start(
        self, services: Sequence[str], *, loadgens: int = 0, any_cpu: bool = False, host_network: bool = False
    ) -> Started:
        """As Engine has it. Before anything is loaded, the counters have to be reached."""
        if loadgens:
            try:
                need_readers(self.run)
            except Failure:
                self.check()
                raise
        return super().start(services, loadgens=loadgens, any_cpu=any_cpu, host_network=host_network)

    def more_loadgens(self, count: int, log: Path) -> bool:
        """As LocalDocker has it: each on its own machine."""
        more = [self.nodes[f"{LOADGEN}-{number}"].context for number in range(2, count + 1)]
        return all(self.up_at(context, [LOADGEN], log, FRESH, ()) for context in more)

    def up_at(
        self, context: str, services: Sequence[str], log: Path, words: Sequence[str], files: Sequence[Path]
    ) -> bool:
        """As LocalDocker has it; again where a container found no manager, who has to help it into a swarm."""
        up = partial(super().up_at, context, services, log, words, files)
        return up() or (self.on_swarm and find_manager() is not None and up())

    def cgroup_of(self, service: str) -> str:
        """As LocalDocker has it, and who reads it."""
        role = role_of(service)
        return f"{read_at(self.run, self.nodes[role], 'below-root', self.pid_of(service))}\t{asked_at(self.run, role)}"

    def know_containers(self) -> None:
        """As LocalDocker has it."""
        tell_readers(self.run, text_of(self.run.lane_folder / "containers.tsv") or "")

    def online_cpus(self) -> str:
        """As LocalDocker has it."""
        return read_at(self.run, self.nodes["server"], "online-cpus")

    def look_at_dependencies(self) -> dict[str, Facts]:
        """As LocalDocker has it. Counters are read where the containers are, hence always."""
        found = super().look_at_dependencies()
        self._unreadable = ""
        return found

    def counters_of(self, service: str, pid: int) -> str:
        """As LocalDocker has it."""
        apart = (text_of(self.run.lane_folder / APART) or "").strip()
        lines = read_at(self.run, self.nodes[role_of(service)], "counters", pid)
        return lines + (f"apart {apart}\n" if apart else "")

    def file_memory(self, service: str) -> str:
        """As Engine has it."""
        return read_at(self.run, self.nodes[role_of(service)], "file-memory", self.pid_of(service))

    def freezer(self, services: Sequence[str]) -> AbstractContextManager[None]:
        """As Engine has it. Several machines share no pipes."""
        return nullcontext()

    def in_loadgen(self, words: Sequence[str], *, log: Path | None = None, folder: str = "") -> Done:
        """As Engine has it."""
        verifies = not self.on_swarm and "verify" in words
        return self._far(CHECKER if verifies else LOADGEN).do(words, log=log, folder=folder)

    def client(self, number: int, words: Sequence[str], *, log: Path, folder: str) -> Done:
        """As Engine has it."""
        return self._far(LOADGEN, "" if number == 1 else f"-{number}").do(words, log=log, folder=folder)

    def bench(self, *words: str, stdin: bytes = b"") -> Done:
        """As Engine has it: the run's folder is here."""
        return in_tools(self.run, "python3", "-m", "bench", *words, stdin=stdin or None, check=False)

    def check(self, step_failed: bool = False) -> None:
        """As Engine has it."""
        for role, node in self.nodes.items():
            # The others of several load generators may not have been started.
            asked: tuple[str, ...] = ("version", "--format", "true")
            if not role.startswith(f"{LOADGEN}-"):
                name = self.run.container(LOADGEN) if role == LOADGEN else reader(self.run, node)
                asked = ("inspect", "--format", "{{.State.Running}}", name)
            if answer(*asked, context=node.context) != "true":
                raise Failure(RUN, f"node {node.name} ({role}) is lost: what it was measuring is not recorded")

    def address(self, service: str) -> str:
        """As Engine has it."""
        return read_addresses(self.run).get(service) or super().address(service)

    def answers_at_home(self, service: str) -> bool:
        """As Engine has it, whatever it says. An overlay network loses a new container now and then."""
        node = self.nodes["server"]
        asks = ("curl", "--silent", "--output", "/dev/null", "--max-time", "5", f"http://{service}:8080/")
        return answer("exec", reader(self.run, node), *asks, context=node.context) is not None

    def start_dependencies(self) -> None:
        """As Engine has it; and finds out whether each of load generator and server has CPU time of its own."""
        super().start_dependencies()
        words = ("exec", self.run.container(LOADGEN), "cat", "/proc/sys/kernel/random/boot_id")
        here = docker(*words, context=self.context_of(LOADGEN)).out.strip()
        same = here == read_at(self.run, self.nodes["server"], "boot-id")
        save(self.run.lane_folder / APART, "no\n" if same else "yes\n")

    def _far(self, service: str, number: str = "") -> FarLoadgen:
        node = self.nodes[role_of(service) + number]
        return FarLoadgen(self.run, node.context, self.run.container(service))


def choose_nodes(run: Run, resume: bool) -> None:
    """A node of the swarm for each role, of those that can be used now, or as many pairs as there are.

    A run that goes on may get others than it began with.
    """
    usable = read_swarm().usable()
    count = int(run.setting("LOADGENS", "1"))
    nodes = chosen_nodes(usable, read_nodes(run.folder / EVER), count)
    save_nodes(run.folder, nodes)
    server, loadgen, support, *more = nodes
    others = "".join(f", {node.name}" for node in more)
    say(
        f"nodes: server {server.name}, load generator {loadgen.name}{others}, database {support.name}; "
        "overlay network, not encrypted"
    )
    if count == 1:
        _choose_lanes(run, usable)
    cost = text_of(run.root / "results" / NETWORK_COST)
    if cost and not resume:
        save(run.folder / NETWORK_COST, cost)
    need_far_compose(run)


def _choose_lanes(run: Run, usable: Sequence[Node]) -> None:
    """As many as there are pairs of nodes."""
    # Its last ones were chosen now.
    ever = read_nodes(run.folder / EVER)
    facts = json.loads((run.folder / "run.json").read_text())
    _, left_out = of_largest_kinds(usable, ever)
    lanes = chosen_lanes(usable, ever, run.setting("BENCH_SUBNET"), run.settings)
    entry = lanes_entry(lanes, left_out, facts.get("lanes") or {})
    if entry["most"] > 1 or entry["left_out"]:
        save(run.folder / "run.json", json.dumps({**facts, "lanes": entry}, indent=1) + "\n")
    _save_lanes(run, lanes)
    if len(lanes) > 1:
        say(f"{len(lanes)} pairs of nodes side by side: {'; '.join(lane.words for lane in lanes)}")
    if left_out:
        say(f"left out, as figures of other nodes are not compared: {'; '.join(left_out)}")


def _save_lanes(run: Run, lanes: Sequence[Lane]) -> None:
    for number, lane in enumerate(lanes[1:], 2):
        save_nodes(run.on_lane(number).lane_folder, lane.nodes)
    lines = [f"{number}\t{lane.part.subnet}\t{lane.part.database_cpus}\n" for number, lane in enumerate(lanes, 1)]
    if len(lanes) > 1:
        save(run.folder / LANES, "".join(lines))
    elif (run.folder / LANES).exists():
        (run.folder / LANES).unlink()


def ready_nodes(run: Run) -> None:
    """Images, networks, volumes and readers, once the services are built; nothing in a run on this machine."""
    if not several(run):
        return
    engine = Nodes(run)
    services = {run.services[name].image for name in run.host.containers if not run.failed(name)}
    images = sorted({*HARNESS, *services})
    if engine.on_swarm:
        swarm = read_swarm()
        registry.start(run.root, swarm)
        registry.send_images(run.root, swarm, images)
        make_network(engine.run)
        fill_nodes(engine)
        from driver.lanes import ready_lanes

        ready_lanes(run)
    else:
        of_machine = [(engine.nodes["server"], images), (engine.nodes[LOADGEN], ["bench/loadgen"])]
        together(lambda one: copy_images(one[0].context, one[1]), of_machine)
        contexts.make_networks(engine.run)
        fill_nodes(engine)
        contexts.need_way(engine.run)


def fill_nodes(engine: Nodes) -> None:
    """Volumes and readers."""
    for node in engine.nodes.values():
        fill_volumes(engine.run, node)
    for role in READ:
        node = engine.nodes[role]
        try:
            start_reader(engine.run, node)
        except DockerError as error:
            raise Failure(RUN, f"the counters of node {node.name} cannot be read: {error}") from error


def make_network(run: Run) -> None:
    """As the project's own Compose file has it, of the swarm."""
    manager = find_manager()
    if manager is None:
        raise Failure(RUN, "the run has no network")
    # A lost node keeps the one that the run had, until the swarm has given it up.
    if answer("network", "inspect", run.project, context=manager) is not None:
        return
    options = overlay_options(json.loads(project_compose(run, "config", "--format", "json", LOADGEN).out))
    label = f"com.docker.compose.project={run.project}"
    try:
        docker("network", "create", *options, "--label", label, run.project, context=manager)
    except DockerError as error:
        raise Failure(USER, f"the swarm makes no network of {run.setting('BENCH_SUBNET')}: {error}") from error


def remove_from_nodes(run: Run) -> None:
    """What it has, or its lane, on those that answer, of all that it has ever had."""
    ever = sorted({node.context for node in read_nodes(run.lane_folder / EVER)})
    on_swarm = several(run) == "swarm"
    for context in ever:
        for kind in ("container", "volume", *(() if on_swarm else ("network",))):
            ids = _ids(run, kind, context)
            if ids:
                answer(kind, "rm", "--force", *ids, context=context, timeout=60)
    manager = find_manager() if on_swarm else None
    if manager is None:
        return
    for _ in range(30):
        ids = _ids(run, "network", manager)
        if not ids:
            return
        if answer("network", "rm", *ids, context=manager) is None:
            time.sleep(0.3)
    warn(
        f"the swarm still counts a lost node as using the network of {run.name}: --resume takes it again; "
        f"once the node is back, docker --context {manager} network rm {run.project} removes it"
    )


def _ids(run: Run, kind: str, context: str) -> list[str]:
    """Of what the run has there."""
    words = (kind, "ls", *(("--all",) if kind == "container" else ()), "--quiet")
    return (
        answer(*words, "--filter", f"label=com.docker.compose.project={run.project}", context=context) or ""
    ).split()

"""Chooses a run's nodes, gives them images, networks, volumes and readers, and removes these at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress

from driver.compose import FILE, project_compose
from driver.docker import DockerError, answer, docker
from driver.engines.local import LOADGEN
from driver.engines.nodes import Nodes
from driver.failure import RUN, USER, Failure, say, warn
from driver.files import save, text_of
from driver.messages import STEP
from driver.nodes import contexts
from driver.nodes.choice import Lane, chosen_lanes, chosen_nodes, lanes_entry, of_largest_kinds
from driver.nodes.compose import lane_compose, need_far_compose
from driver.nodes.images import HARNESS, copy_images, send_images, start_registry
from driver.nodes.loadgen import fill_volumes
from driver.nodes.node import EVER, LANES, Node, read_lanes, read_nodes, save_nodes, several
from driver.nodes.readers import ROLES as READ
from driver.nodes.readers import start_reader
from driver.nodes.stack import overlay_options
from driver.nodes.swarm import find_manager, read_swarm
from driver.run import Run
from driver.steps.measure import measure_step
from driver.together import together

NETWORK_COST = "network-cost.txt"
"""The last result of `harness-cost.sh --network`, in results/; a run keeps a copy."""


def choose_nodes(run: Run, resume: bool) -> None:
    """Chooses a node of the swarm for each role, or as many pairs as there are; a resumed run may get other nodes."""
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
    """As many lanes as there are pairs of nodes."""
    # Includes those that were just chosen.
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
    """Prepares nodes after the build; does nothing in a run on this machine."""
    if not several(run):
        return
    engine = Nodes(run)
    services = {run.services[name].image for name in run.host.containers if not run.failed(name)}
    images = sorted({*HARNESS, *services})
    if engine.on_swarm:
        swarm = read_swarm()
        start_registry(run.root, swarm)
        send_images(run.root, swarm, images)
        make_network(engine.run)
        fill_nodes(engine)

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
    """Creates the run's overlay network, with the options of the project's Compose file."""
    manager = find_manager()
    if manager is None:
        raise Failure(RUN, "the run has no network")
    # A resumed run may still have its network, if a lost node has kept it.
    if answer("network", "inspect", run.project, context=manager) is not None:
        return
    options = overlay_options(json.loads(project_compose(run, "config", "--format", "json", LOADGEN).out))
    label = f"com.docker.compose.project={run.project}"
    try:
        docker("network", "create", *options, "--label", label, run.project, context=manager)
    except DockerError as error:
        raise Failure(USER, f"the swarm makes no network of {run.setting('BENCH_SUBNET')}: {error}") from error


def remove_from_nodes(run: Run) -> None:
    """Removes what the run or lane has on any node that it has used and that answers."""
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
    """Ids of the run's objects of this kind there."""
    words = (kind, "ls", *(("--all",) if kind == "container" else ()), "--quiet")
    return (
        answer(*words, "--filter", f"label=com.docker.compose.project={run.project}", context=context) or ""
    ).split()


def ready_lanes(run: Run) -> None:
    """Prepares all lanes but the first, which is the run."""
    count = len(read_lanes(run))
    together(lambda number: _ready_lane(run.on_lane(number)), range(2, count + 1), max(1, count))


def _ready_lane(run: Run) -> None:
    compose = json.loads((run.folder / FILE).read_text())
    made = lane_compose(compose, run.project, read_lanes(run)[run.lane - 1].database_cpus)
    save(run.lane_folder / FILE, json.dumps(made, indent=1) + "\n")
    engine = Nodes(run)
    make_network(engine.run)
    fill_nodes(engine)
    engine.start_dependencies()


def measure_wave(run: Run) -> None:
    """Measures a step on each lane that has one. If one fails as a whole (a lost node), the others finish first."""
    lanes = [run.on_lane(number) for number, _ in enumerate(read_lanes(run), 1)]
    asked = [lane for lane in lanes if (lane.lane_folder / STEP).exists()]
    together(_measure_lane, asked, max(1, len(asked)))


def _measure_lane(run: Run) -> None:
    engine = Nodes(run)
    if not engine.know_dependencies():
        engine.check()
        names = " ".join(node.name for node in engine.nodes.values())
        raise Failure(RUN, f"the database, upstream or load generator of nodes {names} is gone")
    measure_step(engine)


def remove_lanes(run: Run) -> None:
    """Removes the lanes that any call of the run had, except the first, which is removed as the run itself."""
    numbers = sorted(int(folder.name) for folder in run.folder.glob("lanes/*") if folder.name.isdecimal())
    lanes = [lane for lane in map(run.on_lane, numbers) if read_nodes(lane.lane_folder / EVER)]
    with suppress(Failure, DockerError):
        together(remove_from_nodes, lanes, max(1, len(lanes)))

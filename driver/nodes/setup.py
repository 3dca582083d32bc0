"""Chooses a run's nodes in a swarm, sets up what the run needs on its nodes, and removes that at the end.

It needs images, networks, volumes and readers of counters. A lane is a pair of nodes with its own Compose project; the
first lane is the run itself. The planner decides which step is measured on which lane (bench/schedule/steps.py).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Network

from driver.compose import FILE, project_compose
from driver.docker import CONFINED, DockerError, answer, docker, in_time, or_failure
from driver.engines.local import LOADGEN
from driver.engines.nodes import Nodes
from driver.failure import RUN, USER, Failure, say, warn
from driver.files import save
from driver.nodes.choice import chosen_lanes, lanes_entry, of_largest_kinds
from driver.nodes.compose import OUTER, lane_compose, need_far_compose
from driver.nodes.images import copy_images, overlay_options, send_images, start_registry
from driver.nodes.loadgen import fill_volumes
from driver.nodes.node import EVER, LANES, Lane, read_lanes, read_nodes, save_nodes, several
from driver.nodes.swarm import find_manager, read_swarm
from driver.parallel import together
from driver.run import Run
from driver.services.harness import IMAGES

REACHES = 'exec 3<>"/dev/tcp/${0%:*}/${0##*:}" && read -r line <&3 && [[ $line == *boot* ]]'


def choose_nodes(run: Run) -> None:
    """Chooses as many lanes as the swarm has pairs of nodes; a resumed run may get other nodes of the same kinds."""
    usable, before = read_swarm().usable(), read_nodes(run.folder / EVER)
    lanes = chosen_lanes(usable, before, run.setting("BENCH_SUBNET"), run.settings)
    server, loadgen, support = lanes[0].nodes
    save_nodes(run.folder, lanes[0].nodes)
    machines = f"server {server.name}, load generator {loadgen.name}, database {support.name}"
    say(f"nodes: {machines}; overlay network, not encrypted")
    _, left_out = of_largest_kinds(usable, before)
    facts = json.loads((run.folder / "run.json").read_text())
    entry = lanes_entry(lanes, left_out, facts.get("lanes") or {})
    if entry["most"] > 1 or entry["left_out"]:
        save(run.folder / "run.json", json.dumps({**facts, "lanes": entry}, indent=1) + "\n")
    save_lanes(run, lanes)
    if len(lanes) > 1:
        pairs = "; ".join(f"{lane.nodes[0].name} with load generator {lane.nodes[1].name}" for lane in lanes)
        say(f"{len(lanes)} pairs of nodes side by side: {pairs}")
    if left_out:
        say(f"left out, because figures of different nodes are not compared: {'; '.join(left_out)}")
    need_far_compose(run)


def save_lanes(run: Run, lanes: Sequence[Lane]) -> None:
    """Saves the lanes, if there are two or more; the nodes of the first lane are the run's."""
    for number, lane in enumerate(lanes[1:], 2):
        save_nodes(run.on_lane(number).lane_folder, lane.nodes)
    lines = [f"{number}\t{lane.subnet}\t{lane.database_cpus}\n" for number, lane in enumerate(lanes, 1)]
    if len(lanes) > 1:
        save(run.folder / LANES, "".join(lines))
    else:
        (run.folder / LANES).unlink(missing_ok=True)


def ready_nodes(run: Run) -> None:
    """Prepares nodes after the build; does nothing in a run on this machine."""
    if not several(run):
        return
    engine = Nodes(run)
    services = {run.services[name].image for name in run.containers if not run.failed(name)}
    images = sorted({*IMAGES, *services})
    if engine.on_swarm:
        swarm = read_swarm()
        start_registry(run.root, swarm)
        send_images(run.root, swarm, images)
        _make_overlay(engine.run)
    else:
        of_machine = [(engine.nodes["server"], images), (engine.nodes[LOADGEN], ["bench/loadgen"])]
        together(lambda one: copy_images(one[0].context, one[1]), of_machine)
        _make_bridges(engine)
    _fill_nodes(engine)
    if engine.on_swarm:
        count = len(read_lanes(run))
        together(lambda number: _ready_lane(run.on_lane(number)), range(2, count + 1), max(1, count))
    else:
        _need_way(engine)


def _ready_lane(run: Run) -> None:
    compose = json.loads((run.folder / FILE).read_text())
    made = lane_compose(compose, run.project, read_lanes(run)[run.lane - 1].database_cpus)
    save(run.lane_folder / FILE, json.dumps(made, indent=1) + "\n")
    engine = Nodes(run)
    _make_overlay(engine.run)
    _fill_nodes(engine)
    engine.start_dependencies()


def _fill_nodes(engine: Nodes) -> None:
    for node in engine.nodes.values():
        fill_volumes(engine.run, node)
    engine.start_readers()


def _make_overlay(run: Run) -> None:
    """Creates a swarm's network with the options of the project's Compose file."""
    manager = find_manager()
    if manager is None:
        raise Failure(RUN, "the run has no network")
    options = overlay_options(json.loads(project_compose(run, "config", "--format", "json", LOADGEN).out))
    _make_network(run, manager, run.project, options, "the swarm cannot create a network of")


def _make_bridges(engine: Nodes) -> None:
    """Creates the networks of two machines without a swarm on both of them: Compose expects each network on each."""
    run = engine.run
    options = bridge_options(run.setting("BENCH_SUBNET"))
    for role, kind in (("server", "inner"), ("server", OUTER), (LOADGEN, "inner"), (LOADGEN, LOADGEN)):
        node, name = engine.nodes[role], run.project if kind == "inner" else f"{run.project}-{OUTER}"
        _make_network(run, node.context, name, options[kind], f"{node.name} cannot create a network in")


def _make_network(run: Run, context: str, name: str, options: Sequence[str], refused: str) -> None:
    # A resumed run may still have its network if a lost node has kept it.
    if answer("network", "inspect", name, context=context) is not None:
        return
    with or_failure(USER, f"{refused} {run.setting('BENCH_SUBNET')}"):
        docker("network", "create", *options, "--label", run.label, name, context=context)


def bridge_options(subnet: str) -> dict[str, list[str]]:
    """Options of `docker network create` for the two networks of the server's machine and the load generator's.

    `inner` is like the network of a run on one machine: internal, without an address of the host. `outer` is not
    internal, but without masquerading: packets keep their container's address, to which no other machine can reply.
    """
    try:
        inner, outer = IPv4Network(subnet, strict=False).subnets()
    except ValueError as error:
        raise Failure(USER, f"BENCH_SUBNET '{subnet}' cannot be divided in two: {error}") from error
    bridge, label = "com.docker.network.bridge", "--label=bench.network=yes"
    return {
        "inner": ["--internal", f"--opt={bridge}.inhibit_ipv4=true", label, f"--subnet={inner}"],
        OUTER: [f"--opt={bridge}.enable_ip_masquerade=false", label, f"--subnet={outer}"],
        LOADGEN: [label, f"--subnet={outer}"],
    }


def _need_way(engine: Nodes) -> None:
    """Failure if the load generator's machine cannot reach a published port of the server's."""
    run, server, loadgen = engine.run, engine.nodes["server"], engine.nodes[LOADGEN]
    address = engine.reader_address("server")
    options = ("--network", f"{run.project}-{OUTER}", *CONFINED, "--label", run.label)
    asks = ("run", "--rm", *options, "bench/loadgen", "timeout", "5", "bash", "-c", REACHES, address)
    if not in_time(lambda: answer(*asks, context=loadgen.context, timeout=60) is not None, 5, 0.5):
        why = "another network, or a closed port (docs/several-machines.md)?"
        raise Failure(USER, f"{loadgen.name} cannot reach {address} of {server.name}: {why}")


def remove_nodes(run: Run) -> None:
    """Removes what the run and all its lanes have on any node that a call of it has used and that answers."""
    numbers = sorted(int(folder.name) for folder in run.folder.glob("lanes/*") if folder.name.isdecimal())
    lanes = [lane for lane in map(run.on_lane, numbers) if read_nodes(lane.lane_folder / EVER)]
    with suppress(Failure, DockerError):
        together(_remove_lane, lanes, max(1, len(lanes)))
    _remove_lane(run)


def _remove_lane(run: Run) -> None:
    on_swarm = several(run) == "swarm"
    for context in sorted({node.context for node in read_nodes(run.lane_folder / EVER)}):
        for kind in ("container", "volume", *(() if on_swarm else ("network",))):
            if ids := _ids(run, kind, context):
                answer(kind, "rm", "--force", *ids, context=context, timeout=60)
    manager = find_manager() if on_swarm else None
    if manager is None:
        return

    def is_gone() -> bool:
        ids = _ids(run, "network", manager)
        return not ids or answer("network", "rm", *ids, context=manager) is not None

    if not in_time(is_gone, 30, 0.3):
        how = f"once the node is back, docker --context {manager} network rm {run.project} removes it"
        warn(f"the swarm still counts a lost node as using the network of {run.name}: --resume uses it again; {how}")


def _ids(run: Run, kind: str, context: str) -> list[str]:
    """Ids of the run's objects of this kind on an engine."""
    words = (kind, "ls", *(("--all",) if kind == "container" else ()), "--quiet", "--filter", f"label={run.label}")
    return (answer(*words, context=context) or "").split()

"""Loads the null server through three kinds of network between swarm nodes, for scripts/harness-cost.sh --network.

`python3 -m tests.cost.networks FOLDER`, on the host: writes wrk's output for each round and network to
FOLDER/ROUND.NETWORK.txt, and prints the nodes. `tests.cost network` compares the networks within each round.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from driver.compose import setting
from driver.docker import CONFINED, DockerError, answer, docker
from driver.failure import USER, Failure, say, warn
from driver.nodes.images import copy_images
from driver.nodes.node import Node
from driver.nodes.swarm import Swarm, read_swarm
from driver.nodes.swarm_verbs import remove_network
from driver.run import ROOT

ROUNDS, SECONDS, PORT = 24, 1, 18080
KINDS = ("bridge", "overlay", "host")
NULL = """sed "s/listen 8080/listen $0/" /etc/nginx/null.conf >/tmp/null.conf &&
    exec nginx -e /dev/stderr -c /tmp/null.conf -g "daemon off;" """
NAME = f"bench-network-{os.getpid()}"


def main(argv: Sequence[str]) -> int:
    """Measures all rounds, and removes everything that was started."""
    swarm = read_swarm()
    servers, loadgens = swarm.machines("server"), swarm.machines("loadgen")
    if not servers or not loadgens:
        raise Failure(USER, "a node for the server and one for the load generator are needed: scripts/swarm.sh check")
    server, loadgen = servers[0], loadgens[0]
    say(f"server on {server.name}, load generator on {loadgen.name}; bridge: both on {server.name}")
    copy_images(server.context, ["bench/upstream", "bench/loadgen"])
    copy_images(loadgen.context, ["bench/loadgen"])
    try:
        _start(swarm, server, loadgen)
        _measure(server, loadgen, Path(argv[0]))
    finally:
        _stop(swarm)
    print(f"{loadgen.name} to {server.name}")
    return 0


def _start(swarm: Swarm, server: Node, loadgen: Node) -> None:
    """Starts a server and a load generator per network; they all stay up while others are measured.

    In the host's network, the server listens only at the node's own address.
    """
    docker("network", "create", "--internal", f"{NAME}-bridge", context=server.context)
    overlay = ("--driver", "overlay", "--attachable", "--internal", f"{NAME}-overlay")
    docker("network", "create", *overlay, context=swarm.manager)
    for kind in KINDS:
        network = "host" if kind == "host" else f"{NAME}-{kind}"
        listen = f"{server.address}:{PORT}" if kind == "host" else "8080"
        _run(server, kind, network, "SERVER_CPUS", "bench/upstream", "sh", "-c", NULL, listen)
        at = server if kind == "bridge" else loadgen
        _run(at, f"{kind}-loadgen", network, "LOADGEN_CPUS", "bench/loadgen", "sleep", "infinity")


def _run(node: Node, name: str, network: str, cpus: str, *words: str) -> None:
    chosen = setting(ROOT, cpus) or {"SERVER_CPUS": "0", "LOADGEN_CPUS": "1"}[cpus]
    options = ("--detach", "--name", f"{NAME}-{name}", "--network", network, "--cpuset-cpus", chosen, "--init")
    limits = (*CONFINED, "--tmpfs", "/tmp:mode=1777", "--memory", "512m")
    docker("run", *options, *limits, *words, context=node.context)


def _measure(server: Node, loadgen: Node, folder: Path) -> None:
    """Measures all rounds; each begins with another network than the one before."""
    urls = {kind: f"http://{NAME}-{kind}:8080/json" for kind in KINDS}
    urls["host"] = f"http://{server.address}:{PORT}/json"
    wrk = ("wrk", "--threads", "1", "--connections", "16", "--duration", str(SECONDS), "--latency")
    for number in range(ROUNDS):
        for place in range(len(KINDS)):
            kind = KINDS[(place + number) % len(KINDS)]
            context = server.context if kind == "bridge" else loadgen.context
            log = folder / f"{number}.{kind}.txt"
            docker("exec", f"{NAME}-{kind}-loadgen", *wrk, urls[kind], context=context, log=log)


def _stop(swarm: Swarm) -> None:
    """Removes containers and networks on every node."""
    for context in swarm.contexts:
        left = (answer("ps", "--all", "--quiet", "--filter", f"name={NAME}-", context=context) or "").split()
        if left:
            with suppress(DockerError):
                docker("rm", "--force", *left, context=context)
        answer("network", "rm", f"{NAME}-bridge", context=context)
    remove_network(swarm.manager, f"{NAME}-overlay")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Failure, DockerError) as error:
        warn(f"networks: {error}")
        sys.exit(error.status if isinstance(error, Failure) else 1)

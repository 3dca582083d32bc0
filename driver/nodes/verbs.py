"""The verbs of scripts/swarm.sh, which has checked the arguments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from driver.docker import docker, or_failure
from driver.failure import USER, say
from driver.nodes.check import check
from driver.nodes.images import remove_registry, send_images, start_registry
from driver.nodes.swarm import LABEL, Swarm, read_swarm, role_label
from driver.run import ROOT


def main(argv: list[str]) -> int:
    """`swarm VERB WORD...`: see scripts/swarm.sh --help."""
    verb, words = argv[0], argv[1:]
    root = Path(os.environ.get("BENCH_ROOT") or ROOT)
    swarm = read_swarm()
    if verb == "label":
        _label(swarm, words[0], words[1:])
    elif verb == "roles":
        for node in swarm.usable():
            print(node.role, node.name, node.context, node.address, node.kind)
    elif verb == "check":
        found = list(check(root, swarm, int(words[-1]) if words else 2))
        print(*found, sep="\n")
        return 1 if any(finding.kind == "stop" for finding in found) else 0
    elif verb == "up":
        start_registry(root, swarm, words)
    elif verb == "send":
        send_images(root, swarm, words)
    else:
        remove_registry(swarm)
    return 0


def _label(swarm: Swarm, name: str, roles: Sequence[str]) -> None:
    """Sets the role label of a node; removes it if there are no roles."""
    label = role_label(roles)
    change = ["--label-add", f"{LABEL}={label}"] if label else ["--label-rm", LABEL]
    with or_failure(USER, f"node {name} is not labelled"):
        docker("node", "update", *change, name, context=swarm.manager)
    say(f"{name}: {label or 'no role'}")

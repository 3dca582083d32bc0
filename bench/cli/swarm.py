"""Verbs on a swarm: `swarm-label`, `swarm-roles`, `swarm-check`, `swarm-stack`, `swarm-network`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.core.arguments import Parser
from bench.core.errors import UserError
from bench.swarm.facts import Facts, read_facts
from bench.swarm.findings import findings
from bench.swarm.nodes import role_label
from bench.swarm.stack import loses, network_options, stack


def swarm_label_verb(argv: Sequence[str]) -> int:
    """`swarm-label ROLE...`: print the value of the label `bench.role` for a node with these roles."""
    print(role_label(argv))
    return 0


def swarm_roles_verb(argv: Sequence[str]) -> int:
    """`swarm-roles FOLDER`: print `ROLE NODE CONTEXT ADDRESS KIND` for each role of each node that can be used."""
    for node in _facts(argv, "swarm-roles").nodes:
        for role in node.roles if node.usable else ():
            print(role, node.name, node.context, node.address, node.kind)
    return 0


def swarm_check_verb(argv: Sequence[str]) -> int:
    """`swarm-check FOLDER`: print what was found, one line each; status 1 where something stops a run."""
    found = findings(_facts(argv, "swarm-check"))
    for finding in found:
        print(finding)
    return 1 if any(finding.kind == "stop" for finding in found) else 0


def swarm_stack_verb(argv: Sequence[str]) -> int:
    """`swarm-stack FOLDER SERVICE... <COMPOSE`: print the stack file of these services as JSON.

    COMPOSE is what `docker compose config --format json` prints. FOLDER's file `digests` has, in a line each, the name
    of an image and its reference in the registry. What Swarm does not give a service goes to standard error.
    """
    parser = Parser("swarm-stack")
    parser.add_argument("folder", type=Path)
    parser.add_argument("services", nargs="+")
    options = parser.parse_args(argv)
    digests = options.folder / "digests"
    pairs = [line.split() for line in digests.read_text().splitlines()] if digests.exists() else []
    compose = json.load(sys.stdin)
    print(json.dumps(stack(compose, options.services, read_facts(options.folder).nodes, dict(pairs)), indent=1))
    for name, lost in loses(compose, options.services).items():
        print(f"{name}: a service of a swarm has no {', '.join(lost)}", file=sys.stderr)
    return 0


def swarm_network_verb(argv: Sequence[str]) -> int:
    """`swarm-network <COMPOSE`: print the options of `docker network create` for a run's network, one a line."""
    if argv:
        raise UserError("usage: python3 -m bench swarm-network <COMPOSE")
    print("\n".join(network_options(json.load(sys.stdin))))
    return 0


def _facts(argv: Sequence[str], verb: str) -> Facts:
    if len(argv) != 1:
        raise UserError(f"usage: python3 -m bench {verb} FOLDER")
    return read_facts(Path(argv[0]))

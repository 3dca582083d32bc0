"""`subnet-taken`: whether a run's network has no room because another one is there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any

from bench.core.errors import UserError


def subnet_taken_verb(argv: Sequence[str]) -> int:
    """`subnet-taken SUBNET PROJECT <NETWORKS`: prints the networks of other projects that overlap it; 1 if none does.

    NETWORKS is what `docker network inspect` prints.
    """
    if len(argv) != 2:
        raise UserError("usage: python3 -m bench subnet-taken SUBNET PROJECT")
    try:
        wanted = IPv4Network(argv[0], strict=False)
        networks = json.load(sys.stdin)
    except ValueError as error:
        raise UserError(f"no subnet, or not what docker network inspect prints: {error}") from error
    names = [network["Name"] for network in networks if any(map(wanted.overlaps, _subnets(network, argv[1])))]
    print(", ".join(names))
    return 0 if names else 1


def _subnets(network: Mapping[str, Any], project: str) -> Iterator[IPv4Network]:
    if (network.get("Labels") or {}).get("com.docker.compose.project") == project:
        return
    for config in network["IPAM"].get("Config") or ():
        if "." in (subnet := config.get("Subnet", "")):
            yield IPv4Network(subnet, strict=False)

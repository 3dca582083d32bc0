"""Finds the cgroups of Compose's containers from inside one of them, where there is no Docker socket to ask.

Docker names a container's cgroup after its id, and its DNS knows a container of a network by the id's first twelve
digits too: the one with the address of a service is that service's.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_CONTAINER = re.compile(r"(?:docker-|libpod-)?([0-9a-f]{64})(?:\.scope)?\Z")
_DEEPEST = 5


def address_of(name: str) -> str | None:
    """The IPv4 address of a name; None where it has none."""
    try:
        return socket.gethostbyname(name)
    except OSError:
        return None


def find_cgroups(
    services: Iterable[str], root: Path, resolve: Callable[[str], str | None] = address_of
) -> dict[str, str]:
    """The folder below `root` of each service's container; services that are not found are left out."""
    by_address = {address: service for service in services if (address := resolve(service))}
    found: dict[str, str] = {}
    for folder in _containers(root):
        name = _CONTAINER.match(folder.name)
        address = resolve(name[1][:12]) if name else None
        if address in by_address:
            found[by_address[address]] = str(folder.relative_to(root))
        if len(found) == len(by_address):
            break
    return found


def _containers(root: Path) -> Iterator[Path]:
    for top, names, _ in os.walk(root):
        if len(Path(top).relative_to(root).parts) >= _DEEPEST:
            names.clear()
        for name in [name for name in names if _CONTAINER.match(name)]:
            names.remove(name)
            yield Path(top) / name

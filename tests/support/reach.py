"""Tries to open connections from inside a container: python3 - HOST:PORT... < reach.py

Prints one line each, `HOST:PORT reached` or `HOST:PORT not reached (why)`. If the container has a route out of its own
networks, prints that instead and ends with status 3.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

NET = Path("/proc/net")


def ways_out() -> Iterator[str]:
    """Routes with a gateway, and IPv6 addresses, which could find a route by autoconfiguration."""
    for line in (NET / "route").read_text().splitlines()[1:]:
        interface, _, gateway = line.split()[:3]
        if gateway != "00000000":
            yield f"a gateway on {interface}"
    for line in (NET / "if_inet6").read_text().splitlines() if (NET / "if_inet6").exists() else ():
        if not line.endswith(" lo"):
            yield f"IPv6 on {line.split()[-1]}"


def attempt(host: str, port: int) -> str:
    """The result of one connection attempt."""
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError as error:
        return f"not reached ({error.strerror or error})"
    return "reached"


def main(places: list[str]) -> int:
    """Try all addresses."""
    if found := list(ways_out()):
        print("a way out:", ", ".join(found))
        return 3
    for place in places:
        host, _, port = place.rpartition(":")
        print(place, attempt(host, int(port)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Whether requests are under way: what the kernel says of the load generator's connections to a service."""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path

TABLE = Path("/proc/net/tcp")
_ESTABLISHED, _SYN_SENT = "01", "02"


def kernel_address(ip: str, port: int) -> str:
    """An address as /proc/net/tcp writes it: the IPv4 address in the order of this machine's bytes."""
    (number,) = struct.unpack("=I" if sys.byteorder == "little" else ">I", socket.inet_aton(ip))
    return f"{number:08X}:{port:04X}"


def under_way(peer: str, table: Path = TABLE) -> int:
    """Connections to `peer` that wait for an answer while their tool is stopped.

    A stopped tool reads nothing: an answer that has arrived is still in the connection's receive queue.
    """
    waiting = 0
    for line in table.read_text().splitlines()[1:]:
        _, _, remote, state, queues, *_ = line.split(None, 5)
        if remote == peer and (state == _SYN_SENT or (state == _ESTABLISHED and queues.endswith(":00000000"))):
            waiting += 1
    return waiting

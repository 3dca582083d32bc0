"""Detects requests in flight from the kernel's state of the load generator's connections to a service.

It uses sock_diag (linux/inet_diag.h), because /proc/net/tcp is ten times slower: several milliseconds per read on a
machine with a lot of memory.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TABLE = Path("/proc/net/tcp")
COUNTS, PACKETS = Path("/proc/net/netstat"), Path("/proc/net/snmp")
HEADERS_BYTES = 52
"""Of a packet: IPv4 and TCP with timestamps."""
OPENING_BYTES = 8
"""What the answer to a new connection has beyond them, in options that are agreed on only then."""
_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY, _DONE, _ERROR = 20, 3, 2
_REQUEST_DUMP = 0x301
_ESTABLISHED, _SYN_SENT, _CLOSE_WAIT = 1, 2, 8
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBBI48x")
_STATE_AT, _PORT_AT, _ADDRESS_AT, _QUEUE_AT = 1, 6, 24, 56
"""Offsets in inet_diag_msg: the state, the peer's port and address, and the size of the receive queue."""
_MESSAGE_BYTES = 72
_INFO = 2
"""INET_DIAG_INFO, the attribute with the connection's tcp_info, which is requested by bit `_INFO - 1`."""
_LAST_SENT_AT, _LAST_RECEIVED_AT, _RECEIVED_AT, _DATA_SEGMENTS_OUT_AT = 44, 52, 128, 156
"""Offsets in tcp_info: milliseconds since data was last sent and received, bytes received, data segments sent."""
_RECEIVED = struct.Struct("=Q")


class Connections(NamedTuple):
    """The number of a stopped tool's connections by state.

    - `waiting`: waiting for a response.
    - `unasked`: nothing was ever sent; `unclosed`: the server has closed its side. In both, the server may be waiting
      for the tool.
    - `received`: bytes received on all connections so far; 0 without sock_diag.
    """

    waiting: int
    unasked: int = 0
    unclosed: int = 0
    received: int = 0


def connections_to(peer: tuple[str, int]) -> Connections:
    """The states of the connections to `peer` (IPv4 address, port) while their tool is stopped.

    A stopped tool reads nothing, so a response that has arrived is still in the receive queue. A response that the tool
    had read before it was stopped is recognised by its time, if that is later than the last request's (the kernel's
    clock has a resolution of several milliseconds). A connection on which nothing was sent does not wait for a
    response: the tool was stopped after opening it. Without sock_diag, which a kernel may lack, such a connection
    counts as waiting.
    """
    try:
        return _by_sock_diag(peer)
    except OSError:
        return _by_proc(peer)


def unread_connections(peer: tuple[str, int]) -> int:
    """The number of connections to `peer` with data that their tool has not read yet; 0 without sock_diag."""
    try:
        return sum(_number(entry, _QUEUE_AT) > 0 for entry in _connections(peer))
    except OSError:
        return 0


class Traffic(NamedTuple):
    """What this network namespace has done so far: connections that it opened, and bytes of data that it received."""

    opened: int
    octets: int


def traffic(counts: Path = COUNTS, packets: Path = PACKETS) -> Traffic:
    """The bytes are those in all packets, without their headers.

    Unlike a connection's own count they include those of connections that were closed. Acknowledgements add nothing,
    and what the packet that opens a connection has beyond `HEADERS_BYTES` is taken off.
    """
    headers = HEADERS_BYTES * _counted(packets, "Ip:", "InReceives")
    opened = _counted(packets, "Tcp:", "ActiveOpens")
    return Traffic(opened, _counted(counts, "IpExt:", "InOctets") - headers - OPENING_BYTES * opened)


def _counted(file: Path, group: str, name: str) -> int:
    names, values = (line.split() for line in file.read_text().splitlines() if line.startswith(group))
    return int(values[names.index(name)])


def _by_proc(peer: tuple[str, int], table: Path = TABLE) -> Connections:
    (number,) = struct.unpack("=I", socket.inet_aton(peer[0]))
    name, waiting = f"{number:08X}:{peer[1]:04X}", 0
    for line in table.read_text().splitlines()[1:]:
        _, _, remote, state, queues, *_ = line.split(None, 5)
        waiting += remote == name and (state == "02" or (state == "01" and queues.endswith(":00000000")))
    return Connections(waiting)


def _by_sock_diag(peer: tuple[str, int]) -> Connections:
    waiting = unasked = unclosed = received = 0
    for entry in _connections(peer):
        state, info = entry[_STATE_AT], _tcp_info(entry)
        # The kernel counts the end of the stream as a byte.
        received += _RECEIVED.unpack_from(info, _RECEIVED_AT)[0] - (state == _CLOSE_WAIT) if info else 0
        if state == _CLOSE_WAIT:
            unclosed += 1
        elif not _number(entry, _QUEUE_AT):
            if info is None or state == _SYN_SENT:
                waiting += 1
            elif not _number(info, _DATA_SEGMENTS_OUT_AT):
                unasked += 1
            else:
                waiting += _number(info, _LAST_RECEIVED_AT) >= _number(info, _LAST_SENT_AT)
    return Connections(waiting, unasked, unclosed, received)


def _tcp_info(entry: bytes) -> bytes | None:
    """The connection's tcp_info; None if the kernel's version lacks the data segments."""
    place = _MESSAGE_BYTES
    while place + 4 <= len(entry):
        length, kind = struct.unpack_from("=HH", entry, place)
        if kind == _INFO and length >= 4 + _DATA_SEGMENTS_OUT_AT + 4:
            return entry[place + 4 : place + length]
        place += max(4, (length + 3) & ~3)
    return None


def _number(info: bytes, place: int) -> int:
    return int(struct.unpack_from("=I", info, place)[0])


def _connections(peer: tuple[str, int]) -> Iterator[bytes]:
    """The inet_diag_msg of each IPv4 connection to `peer` that is opening, open, or closed by it."""
    address, port = socket.inet_aton(peer[0]), struct.pack("!H", peer[1])
    states = 1 << _ESTABLISHED | 1 << _SYN_SENT | 1 << _CLOSE_WAIT
    request = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 1 << (_INFO - 1), 0, states)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.send(_HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + request)
        while True:
            data = kernel.recv(1 << 16)
            place = 0
            while place < len(data):
                length, kind, *_ = _HEADER.unpack_from(data, place)
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    code = -struct.unpack_from("=i", data, place + _HEADER.size)[0]
                    raise OSError(code, "the kernel does not report connections (sock_diag)")
                entry = data[place + _HEADER.size : place + length]
                if entry[_PORT_AT : _PORT_AT + 2] == port and entry[_ADDRESS_AT : _ADDRESS_AT + 4] == address:
                    yield entry
                place += (length + 3) & ~3

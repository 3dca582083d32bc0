"""Whether requests are under way: what the kernel says of the load generator's connections to a service.

Asked by sock_diag (linux/inet_diag.h): /proc/net/tcp walks the same table ten times as slowly, some milliseconds for
each look on a machine with a lot of memory.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

TABLE = Path("/proc/net/tcp")
_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY, _DONE, _ERROR = 20, 3, 2
_REQUEST_DUMP = 0x301
_ESTABLISHED, _SYN_SENT = 1, 2
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBBI48x")
_STATE_AT, _PORT_AT, _ADDRESS_AT, _QUEUE_AT = 1, 6, 24, 56
"""Where an inet_diag_msg has its state, and the peer's port and address, and the bytes that wait to be read."""
_MESSAGE_BYTES = 72
_INFO = 2
"""INET_DIAG_INFO, the attribute with the connection's tcp_info, which is asked for by bit `_INFO - 1`."""
_DATA_SEGMENTS_OUT_AT = 156


def under_way(peer: tuple[str, int]) -> int:
    """Connections to `peer` (IPv4 address, port) that wait for an answer while their tool is stopped.

    A stopped tool reads nothing: an answer that has arrived is still in the connection's receive queue. One on which
    nothing was ever sent waits for none: the tool was stopped between opening it and asking (without sock_diag, which a
    kernel may lack, such a connection counts too).
    """
    try:
        return _by_sock_diag(peer)
    except OSError:
        return _by_proc(peer)


def _by_proc(peer: tuple[str, int], table: Path = TABLE) -> int:
    (number,) = struct.unpack("=I", socket.inet_aton(peer[0]))
    name, waiting = f"{number:08X}:{peer[1]:04X}", 0
    for line in table.read_text().splitlines()[1:]:
        _, _, remote, state, queues, *_ = line.split(None, 5)
        waiting += remote == name and (state == "02" or (state == "01" and queues.endswith(":00000000")))
    return waiting


def _by_sock_diag(peer: tuple[str, int]) -> int:
    address, port = socket.inet_aton(peer[0]), struct.pack("!H", peer[1])
    waiting = 0
    for entry in _connections():
        theirs = entry[_PORT_AT : _PORT_AT + 2] == port and entry[_ADDRESS_AT : _ADDRESS_AT + 4] == address
        if theirs and struct.unpack_from("=I", entry, _QUEUE_AT)[0] == 0:
            waiting += entry[_STATE_AT] == _SYN_SENT or _has_sent(entry)
    return waiting


def _has_sent(entry: bytes) -> bool:
    """Whether data was sent on a connection; True where the kernel does not say."""
    place = _MESSAGE_BYTES
    while place + 4 <= len(entry):
        length, kind = struct.unpack_from("=HH", entry, place)
        if kind == _INFO and length >= 4 + _DATA_SEGMENTS_OUT_AT + 4:
            return bool(struct.unpack_from("=I", entry, place + 4 + _DATA_SEGMENTS_OUT_AT)[0])
        place += max(4, (length + 3) & ~3)
    return True


def _connections() -> Iterator[bytes]:
    """An inet_diag_msg of each IPv4 connection of this network that is established or about to be."""
    states = 1 << _ESTABLISHED | 1 << _SYN_SENT
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
                    raise OSError(code, "the kernel does not tell of connections (sock_diag)")
                yield data[place + _HEADER.size : place + length]
                place += (length + 3) & ~3

"""Verbs on sockets: `sockets` reads those of a running server; `own-binds`, `own-binds-read` make the table."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from bench.contract.sockets import OPTIONS, NotFound, Unreadable, read_sockets
from bench.core.errors import UserError
from bench.matrix.listeners import LISTENERS, load_listeners, with_own
from bench.matrix.load import load_matrix
from bench.matrix.model import Matrix

PORT = 8080


def sockets_verb(argv: Sequence[str]) -> int:
    """`sockets`: the options of the server on port 8080 of this network namespace, as JSON; or why there are none."""
    if argv:
        raise UserError("usage: python3 -m bench sockets")
    try:
        print(json.dumps({"options": read_sockets(PORT)}))
    except Unreadable as error:
        print(json.dumps({"unreadable": str(error)}))
    except NotFound as error:
        print(json.dumps({"fault": str(error)}))
    return 0


def own_binds_verb(argv: Sequence[str]) -> int:
    """`own-binds [SERVER...]`: a line for each server, `SERVER<tab>SERVICE<tab>START`: a service whose image has it."""
    matrix, table = load_matrix(), load_listeners()
    unknown = [name for name in argv if name not in table]
    if unknown:
        raise UserError(f"{LISTENERS} has no server {', '.join(unknown)}")
    for server, service in _services(matrix):
        if server in table and (not argv or server in argv):
            print(f"{server}\t{service}\t{table[server].start}")
    return 0


def own_binds_read_verb(argv: Sequence[str]) -> int:
    """`own-binds-read <SERVER<tab>JSON`: print the table with what was read; UserError where a server could not be."""
    if argv:
        raise UserError("usage: python3 -m bench own-binds-read")
    read = {}
    for line in sys.stdin:
        server, _, text = line.partition("\t")
        value = json.loads(text)
        if "options" not in value:
            raise UserError(f"{server}: {value.get('unreadable') or value.get('fault')}")
        read[server] = {name: value["options"][name] for name in OPTIONS}
    print(with_own(LISTENERS.read_text(encoding="utf-8"), read), end="")
    return 0


def _services(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Each server with its first service of the default Python and base."""
    seen = set()
    for service in matrix.services:
        default = service.python == matrix.default_python and service.base == matrix.default_base
        if default and not service.skip and service.server.name not in seen:
            seen.add(service.server.name)
            yield service.server.name, service.name

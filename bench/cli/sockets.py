"""`sockets`: read beside a running service, in a container of its own."""

import json
from collections.abc import Sequence

from bench.contract.sockets import NotFound, Unreadable, read_sockets
from bench.core.arguments import words_of


def sockets_verb(argv: Sequence[str]) -> None:
    """`sockets`: print the socket options of the server on port 8080 of this network namespace as JSON, or an error."""
    words_of(argv, "sockets")
    try:
        print(json.dumps({"options": read_sockets(8080)}))
    except Unreadable as error:
        print(json.dumps({"unreadable": str(error)}))
    except NotFound as error:
        print(json.dumps({"fault": str(error)}))

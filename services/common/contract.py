"""The limits and the input parsing that all apps share, so that they differ only in their framework.

Nothing here depends on HTTP, a driver or a framework: text or bytes in, plain values out.
"""

import json
import os
import random
import re
import threading
import time
from collections.abc import Iterable, Iterator
from math import isfinite
from operator import itemgetter
from typing import Any, NoReturn

GREETING = "Hello, World!"
ROUTE_RESPONSE = "HTTP route response"
# As an API lists what a shop has.
PAGE: dict[str, Any] = {
    "total": 92,
    "items": [
        {
            "id": number,
            "name": f"Benchmark item {number}",
            "price": number + 0.5,
            "tags": ["new", "outdoor", "waterproof"],
            "stock": {"amount": 3 * number, "warehouse": "Rotterdam", "reserved": number % 2 == 0},
            "note": "Ships within two working days, unless it is out of stock.",
        }
        for number in range(92)
    ],
}
ADDITIONAL_FORTUNE = (0, "Additional fortune added at request time.")

WORLD_ROWS = 10_000
MAX_COUNT = 500
MAX_DURATION_MS = 10_000
MAX_EVENTS = 100_000
MAX_GAP_MS = 1_000
TOKEN = " benchmark"
ECHO_LIMIT = 64 * 1024
# Below the depth at which the encoder of any Python overflows: what was parsed can also be encoded.
MAX_NESTING = 200

# The stack size of threads on glibc, for every system. On musl, CPython uses 1 MiB, which deeply nested JSON overflows
# in the C parser before Python's own limit is reached: the process would die, not only the request.
threading.stack_size(8 << 20)

# For the reload of an app that boots slowly (bench/plan/events).
time.sleep(float(os.environ.get("BOOT_S") or 0))

# One encoder for all requests: json.dumps() creates a new one on each call that passes separators.
to_json = json.JSONEncoder(separators=(",", ":")).encode

# Not int(), which also accepts digits of other scripts, underscores and spaces.
_INTEGER = re.compile(r"[+-]?[0-9]+")


def clamp_count(text: object) -> int:
    """Number of rows from a path, clamped to 1..500; anything but an integer counts as 1."""
    return _clamp(text, 1, MAX_COUNT, absent=1)


def clamp_duration(text: object) -> int:
    """Milliseconds to wait, clamped to 0..10000; anything but an integer counts as 0."""
    return _clamp(text, 0, MAX_DURATION_MS, absent=0)


def clamp_events(text: object) -> int:
    """Number of events of a stream, clamped to 1..100000; anything but an integer counts as 1."""
    return _clamp(text, 1, MAX_EVENTS, absent=1)


def clamp_gap(text: object) -> int:
    """Milliseconds between two events, clamped to 0..1000; anything but an integer counts as 0."""
    return _clamp(text, 0, MAX_GAP_MS, absent=0)


def _clamp(text: object, low: int, high: int, absent: int) -> int:
    # Some frameworks pass a list when a parameter is repeated.
    if not isinstance(text, str) or not _INTEGER.fullmatch(text):
        return absent
    # Through float: int() rejects numbers of thousands of digits, float() turns them into infinity.
    return int(min(max(float(text), low), high))


def event(number: int) -> dict[str, Any]:
    """The data of a stream's event, as an object."""
    return {"n": number, "token": TOKEN}


def event_data(number: int) -> str:
    """The data of a stream's event, as JSON."""
    return to_json(event(number))


def event_text(number: int) -> str:
    """An event of a stream of server-sent events, for frameworks that leave its text to the app."""
    return f"data: {event_data(number)}\n\n"


def paced(count: int, gap_ms: int) -> Iterator[int]:
    """The numbers of a stream's events, each when it is due: k gaps after the first one. A late one delays no other."""
    first = time.monotonic()
    for number in range(count):
        if gap_ms and (wait := first + number * gap_ms / 1000 - time.monotonic()) > 0:
            time.sleep(wait)
        yield number


def world_ids(count: int) -> list[int]:
    """`count` distinct random ids of World, so that neither a cache nor an ORM can skip a query."""
    # The common case, for a third of the cost of random.sample().
    if count == 1:
        return [random.randint(1, WORLD_ROWS)]
    return random.sample(range(1, WORLD_ROWS + 1), count)


def other_number(number: int) -> int:
    """A random number for World other than its current one, so that each update changes the row."""
    drawn = random.randint(1, WORLD_ROWS - 1)
    return drawn + (drawn >= number)


def all_fortunes(stored: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """The stored (id, message) rows plus the additional one, sorted by message."""
    return sorted([*stored, ADDITIONAL_FORTUNE], key=itemgetter(1))


def data_values(count: int) -> list[str]:
    """`count` values for new rows of the `data` table."""
    return [random.randbytes(16).hex() for _ in range(count)]


def echo(body: bytes) -> dict[str, Any]:
    """The JSON object of an echo request, plus its number of keys as `received`.

    Raises ValueError for a body that is too large, not UTF-8, not JSON, not an object or nested too deeply.
    """
    if len(body) > ECHO_LIMIT:
        raise ValueError(f"the body is larger than {ECHO_LIMIT} bytes")
    try:
        value = json.loads(body.decode(), parse_float=_finite, parse_constant=_refuse)
        if body.count(b"{") + body.count(b"[") > MAX_NESTING and _nesting(value) > MAX_NESTING:
            raise RecursionError
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("the body is not a JSON object")  # noqa: TRY004 (the client's mistake, not a caller's)
    return {**value, "received": len(value)}


def _nesting(value: Any) -> int:
    """Depth of nested arrays and objects, computed without recursion."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} has no place in JSON")

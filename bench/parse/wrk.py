"""Parser of wrk's text (4.x): units depend on the size, and lines with nothing but zeros are omitted."""

from __future__ import annotations

import json
import re

from .parsed import Draft, Parsed, absent
from .text import COUNT, DECIMAL, Cursor, lines_of, read_report, scaled, unreadable

_TIME = DECIMAL + "(us|ms|s|m|h)"
_SIGNED = r"(-?[0-9]{1,18})"

_START = re.compile(r"Running [0-9]{1,18}[smh]? test @ ")
_HEADER = re.compile(r"  Thread Stats +Avg +Stdev +Max +\+/- Stdev")
_LATENCY = re.compile(rf"    Latency +{_TIME} +{_TIME} +{_TIME} +(-?nan|{DECIMAL})%")
_REQ_SEC = re.compile(r"    Req/Sec +\S+ +\S+ +\S+ +\S+%")
_DISTRIBUTION = re.compile("  Latency Distribution")
_PERCENTILE = re.compile(rf" +([0-9]{{1,3}}(?:\.[0-9]{{1,6}})?)% +{_TIME}")
_TOTAL = re.compile(rf"  {COUNT} requests in {_TIME}, {DECIMAL}([KMGTP]?)B read")
_SOCKET = re.compile(rf"  Socket errors: connect {_SIGNED}, read {_SIGNED}, write {_SIGNED}, timeout {_SIGNED}")
_NON2XX = re.compile(rf"  Non-2xx or 3xx responses: {_SIGNED}")
_RPS = re.compile(rf"Requests/sec: +{DECIMAL}")
_TRANSFER = re.compile(rf"Transfer/sec: +{DECIMAL}[KMGTP]?B")

_NO_START = re.compile(r"unable to (?:connect to|resolve) \S+ (\S.{0,120})")
_PERCENTILES = frozenset({"50", "75", "90", "95", "99"})


def parse(data: bytes) -> Parsed:
    """The figures of one run; ``ok`` includes 3xx, which wrk does not count separately."""
    return read_report("wrk", lines_of(data), _START, _read, _explain)


def _read(cursor: Cursor, draft: Draft) -> None:
    figures, errors, latency = draft.figures, draft.errors, draft.latency

    cursor.seek(_HEADER, "the table of threads")
    row = cursor.need(_LATENCY, "the Latency row")
    # Without any answer every column is 0.00us; only the NaN percentage shows it.
    measured = not row[7].endswith("nan")
    if measured:
        latency.update(mean=_seconds(row[1], row[2]), stdev=_seconds(row[3], row[4]), max=_seconds(row[5], row[6]))
    cursor.need(_REQ_SEC, "the Req/Sec row")
    if cursor.take(_DISTRIBUTION):
        while percentile := cursor.take(_PERCENTILE):
            if measured and percentile[1] in _PERCENTILES:
                latency["p" + percentile[1]] = _seconds(percentile[2], percentile[3])

    total = cursor.need(_TOTAL, "the line 'N requests in'")
    figures["requests"] = requests = int(total[1])
    figures["duration_s"] = _seconds(total[2], total[3])
    figures["bytes_read"] = round(float(total[4]) * 1024 ** " KMGTP".index(total[5] or " "))
    figures["bytes_exact"] = not total[5]

    socket = cursor.take(_SOCKET)
    if socket:
        errors.update(zip(("connect", "read", "write", "timeout"), map(_unsigned, socket.groups()), strict=True))
    bad = cursor.take(_NON2XX)
    if bad:
        errors["non2xx"] = _unsigned(bad[1])

    figures["rps"] = float(cursor.need(_RPS, "the Requests/sec line")[1])
    # Only here is it certain that an optional line is missing because there was nothing to count.
    if not socket:
        errors.update(connect=0, read=0, write=0, timeout=0)
    non2xx = errors.setdefault("non2xx", 0)
    if non2xx is not None and non2xx <= requests:
        figures["ok"] = requests - non2xx

    cursor.need(_TRANSFER, "the Transfer/sec line")
    if any(_is_json_object(line) for line in cursor.lines[cursor.at :]):
        figures["extra"] = {"script_json": True}


def _explain(lines: list[str]) -> Parsed:
    for line in lines:
        if found := _NO_START.match(line):
            return absent("wrk", found[1].lower())
    return unreadable("wrk", lines, {})


def _seconds(number: str, unit: str) -> float:
    match unit:
        case "us":
            return scaled(number, -6)
        case "ms":
            return scaled(number, -3)
        case "m":
            return round(float(number) * 60, 9)
        case "h":
            return round(float(number) * 3600, 9)
    return float(number)


def _unsigned(number: str) -> int | None:
    """The counter; ``None`` where it overflowed: it is printed as a signed number, negative beyond 2**31."""
    return None if number.startswith("-") else int(number)


def _is_json_object(line: str) -> bool:
    if not (line.startswith("{") and line.endswith("}")):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False

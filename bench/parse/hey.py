"""Parser of hey's text (0.1.4): seconds with four decimals; failed requests are only in the Error distribution."""

from __future__ import annotations

import re
from collections import Counter

from .parsed import Draft, Parsed
from .text import BLANK, COUNT, DECIMAL, Cursor, go_error_kind, lines_of, read_report, unreadable

_SECONDS = rf"\t *(NaN|{DECIMAL}) secs"

_START = re.compile("Summary:$")
_TOTAL = re.compile(rf"  Total:\t *{DECIMAL} secs")
_SLOWEST = re.compile(rf"  Slowest:\t *{DECIMAL} secs")
_FASTEST = re.compile(rf"  Fastest:\t *{DECIMAL} secs")
_AVERAGE = re.compile(rf"  Average:{_SECONDS}")
_RPS = re.compile(rf"  Requests/sec:\t *{DECIMAL}")
_DATA = re.compile(rf"  Total data:\t{COUNT} bytes")
_LATENCIES = re.compile("Latency distribution:")
_PERCENTILE = re.compile(rf"  ([0-9]{{1,2}})% in {DECIMAL} secs")
_STATUSES = re.compile("Status code distribution:")
_STATUS = re.compile(rf"  \[([0-9]{{1,3}})\]\t{COUNT} responses")
_ERRORS = re.compile("Error distribution:")
_ERROR = re.compile(rf"  \[{COUNT}\]\t(.+)")
_FORMATS = {"csv": re.compile("response-time,DNS")}
_PERCENTILES = frozenset({"50", "75", "90", "95", "99"})

_MOST_RESULTS = 1_000_000
"""hey keeps no more results than this; its rate counts all."""


def parse(data: bytes) -> Parsed:
    """The figures of one run; ``rps`` is hey's, which includes failed requests."""
    return read_report("hey", lines_of(data), _START, _read, lambda lines: unreadable("hey", lines, _FORMATS))


def _read(cursor: Cursor, draft: Draft) -> None:
    figures, latency = draft.figures, draft.latency
    cursor.need(_START, "the summary")
    duration = figures["duration_s"] = float(cursor.need(_TOTAL, "the Total line")[1])
    slowest = cursor.need(_SLOWEST, "the Slowest line")
    fastest = cursor.need(_FASTEST, "the Fastest line")
    average = cursor.need(_AVERAGE, "the Average line")
    # Without any answer the average is NaN, and the zeros next to it are placeholders.
    if average[1] != "NaN":
        latency.update(mean=float(average[1]), min=float(fastest[1]), max=float(slowest[1]))
    rps = figures["rps"] = float(cursor.need(_RPS, "the Requests/sec line")[1])
    while cursor.take(BLANK):
        pass
    if data := cursor.take(_DATA):
        figures["bytes_read"] = int(data[1])
        figures["bytes_exact"] = True

    cursor.seek(_LATENCIES, "the Latency distribution")
    while row := cursor.take(_PERCENTILE):
        # hey prints "0% in 0.0000 secs" where there were too few answers for a percentile.
        if row[1] in _PERCENTILES:
            latency["p" + row[1]] = float(row[2])

    cursor.seek(_STATUSES, "the Status code distribution")
    status: dict[str, int] = {}
    while row := cursor.take(_STATUS):
        # Go's client takes any three digits, and hey prints them as a number: [2] is the status 002, which is none.
        status[row[1].zfill(3)] = int(row[2])
    cursor.need(BLANK, "the end of the status codes")
    requests = sum(status.values())
    ok = sum(count for code, count in status.items() if code.startswith("2"))
    figures["requests"] = requests
    figures["ok"] = ok
    draft.errors.update(non2xx=requests - ok, status=status)

    kinds = _read_errors(cursor)
    draft.errors.update((kind, kinds[kind]) for kind in ("connect", "read", "timeout", "other"))
    draft.errors["write"] = kinds.get("write")
    attempts = figures["attempts"] = requests + kinds.total()
    if requests == _MOST_RESULTS and rps * duration > attempts * 1.001:
        figures["extra"] = {"results_kept": requests}


def _read_errors(cursor: Cursor) -> Counter[str]:
    """Counts of errors by kind, from the Error distribution."""
    kinds: Counter[str] = Counter()
    if cursor.take(_ERRORS):
        while not cursor.take(BLANK):
            if row := cursor.take(_ERROR):
                kinds[go_error_kind(row[2])] += int(row[1])
            else:
                cursor.need(_ERROR, "the end of the errors")
    else:
        cursor.need(BLANK, "the Error distribution or the end")
    return kinds

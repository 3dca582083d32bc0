"""Parser of ab's text (2.3, httpd 2.4): whole milliseconds; one request may count as several failures."""

from __future__ import annotations

import re
from typing import Any

from .parsed import Draft, Parsed, absent
from .text import BLANK, COUNT, DECIMAL, Cursor, clip, lines_of, read_report, scaled, unreadable

_START = re.compile(r"Server Software: ?")
_CONCURRENCY = re.compile(rf"Concurrency Level: +{COUNT}")
_TIME_TAKEN = re.compile(rf"Time taken for tests: +{DECIMAL} seconds")
_COMPLETE = re.compile(rf"Complete requests: +{COUNT}")
_FAILED = re.compile(rf"Failed requests: +{COUNT}")
_KINDS = re.compile(rf"   \(Connect: {COUNT}, Receive: {COUNT}, Length: {COUNT}, Exceptions: {COUNT}\)")
_WRITE = re.compile(rf"Write errors: +{COUNT}")
_NON2XX = re.compile(rf"Non-2xx responses: +{COUNT}")
_KEEPALIVE = re.compile(rf"Keep-Alive requests: +{COUNT}")
_TRANSFERRED = re.compile(rf"Total transferred: +{COUNT} bytes")
_BODY_SENT = re.compile(rf"Total body sent: +{COUNT}")
_HTML = re.compile(rf"HTML transferred: +{COUNT} bytes")
_RPS = re.compile(rf"Requests per second: +{DECIMAL} \[#/sec\] \(mean\)")
_PER_REQUEST = re.compile(rf"Time per request: +{DECIMAL} \[ms\] \(mean(?:, across all concurrent requests)?\)")
_RATE = re.compile(rf"Transfer rate: +{DECIMAL} \[Kbytes/sec\] received")
_RATE_SENT = re.compile(rf" +{DECIMAL} kb/s (?:sent|total)")
_TIMES = re.compile(r"Connection Times \(ms\)")
_COLUMNS = re.compile(r" +min +(?:mean\[\+/-sd\] median|avg) +max")
_PHASE = re.compile(r"(?:Connect|Processing|Waiting): [0-9. -]+")
_ROW = re.compile(rf"Total: +{COUNT} +{COUNT} +{DECIMAL} +{COUNT} +{COUNT}")
_ROW_NO_CONFIDENCE = re.compile(rf"Total: +{COUNT} +{COUNT} +{COUNT}")
_REMARK = re.compile(r"(?:ERROR|WARNING): The median and mean .*|       +(?:deviation apart\.|These results) .*")
_SERVED = re.compile(r"Percentage of the requests served within a certain time \(ms\)")
_PERCENTILE = re.compile(rf" +([0-9]{{1,2}})% +{COUNT}")
_LONGEST = re.compile(rf" 100% +{COUNT} \(longest request\)")

_VERSION = re.compile(r"This is ApacheBench, Version ([0-9A-Za-z.-]{1,20})")
_APR_ERROR = re.compile(r"\bapr_[a-z_]{1,40}(?:\(\))?(?: for [^:]{1,80})?: ([^()\n]{1,120}) \([0-9]{1,9}\)$")
_COMPLETED = re.compile(rf"Total of {COUNT} requests completed")
_FORMATS = {
    "csv": re.compile("Percentage served,Time in ms"),
    "gnuplot": re.compile("starttime\tseconds\tctime\tdtime\tttime\twait"),
}
_PERCENTILES = frozenset({"50", "75", "90", "95", "99"})


def parse(data: bytes) -> Parsed:
    """The figures of one run.

    Where answers differed in length from the first, ``ok`` is ``None`` and ``ok_range`` is set: they may be good.
    """
    lines = lines_of(data)
    return read_report("ab", lines, _START, _read, _explain)


def _read(cursor: Cursor, draft: Draft) -> None:
    figures, errors = draft.figures, draft.errors
    figures["tool_version"] = _version(cursor.lines[: cursor.at])

    cursor.seek(_CONCURRENCY, "the Concurrency Level line")
    duration = figures["duration_s"] = float(cursor.need(_TIME_TAKEN, "the Time taken line")[1])
    complete = figures["requests"] = int(cursor.need(_COMPLETE, "the Complete requests line")[1])
    failed = int(cursor.need(_FAILED, "the Failed requests line")[1])
    connect = receive = length = exceptions = 0
    if failed:
        kinds = cursor.need(_KINDS, "the kinds of failure")
        connect, receive, length, exceptions = map(int, kinds.groups())
    write = cursor.take(_WRITE)
    bad = cursor.take(_NON2XX)
    keepalive = cursor.take(_KEEPALIVE)
    transferred = cursor.need(_TRANSFERRED, "the Total transferred line")

    # Optional lines precede this one: those that are missing had nothing to count.
    non2xx = int(bad[1]) if bad else 0
    errors.update(
        connect=connect,
        read=receive,
        write=int(write[1]) if write else None,
        other={"length": length, "exceptions": exceptions},
        non2xx=non2xx,
    )
    most = complete - non2xx - receive
    if most >= 0:
        if length:
            figures["ok_range"] = (max(0, most - length - exceptions), most)
        else:
            figures["ok"] = most
    extra = {"failed": failed} if failed else {}
    if keepalive:
        extra["keepalive_requests"] = int(keepalive[1])
    figures["extra"] = extra or None
    figures["bytes_read"] = int(transferred[1])
    figures["bytes_exact"] = True

    cursor.take(_BODY_SENT)
    cursor.need(_HTML, "the HTML transferred line")
    if complete and duration:
        figures["rps"] = float(cursor.need(_RPS, "the Requests per second line")[1])
        cursor.need(_PER_REQUEST, "the Time per request line")
        cursor.need(_PER_REQUEST, "the second Time per request line")
        cursor.need(_RATE, "the Transfer rate line")
    elif rps := cursor.take(_RPS):
        figures["rps"] = float(rps[1])
        while cursor.take(_PER_REQUEST) or cursor.take(_RATE):
            pass
    while cursor.take(_RATE_SENT):
        pass
    if complete:
        _read_times(cursor, draft, complete)


def _read_times(cursor: Cursor, draft: Draft, complete: int) -> None:
    latency = draft.latency
    cursor.need(BLANK, "the table of times")
    cursor.need(_TIMES, "the table of times")
    cursor.need(_COLUMNS, "the columns of the table of times")
    while cursor.take(_PHASE):
        pass
    if row := cursor.take(_ROW):
        latency.update(
            min=scaled(row[1], -3), mean=scaled(row[2], -3), stdev=scaled(row[3], -3), max=scaled(row[5], -3)
        )
    else:
        row = cursor.need(_ROW_NO_CONFIDENCE, "the Total row")
        latency.update(min=scaled(row[1], -3), mean=scaled(row[2], -3), max=scaled(row[3], -3))
    while cursor.take(_REMARK):
        pass
    # ab prints no percentiles for one request. -d omits them too, but looks like truncated output.
    if complete == 1:
        return
    cursor.need(BLANK, "the percentiles")
    cursor.need(_SERVED, "the percentiles")
    while percentile := cursor.take(_PERCENTILE):
        if percentile[1] in _PERCENTILES:
            latency["p" + percentile[1]] = scaled(percentile[2], -3)
    cursor.need(_LONGEST, "the line of the longest request")


def _explain(lines: list[str]) -> Parsed:
    figures: dict[str, Any] = {"tool_version": _version(lines)}
    failure = None
    for line in lines:
        if error := _APR_ERROR.search(line):
            failure = error[1].lower()
        elif completed := _COMPLETED.fullmatch(line):
            figures["requests"] = int(completed[1])
    if failure:
        # APR's text for a timeout; all others come from the system.
        timeout = failure == "the timeout specified has expired"
        return absent("ab", "timeout" if timeout else failure, **figures)
    if figures["tool_version"]:
        last = next(line for line in reversed(lines) if line)
        return absent("ab", f"ab ended before its report, after {clip(last)!r}", **figures)
    return unreadable("ab", lines, _FORMATS)


def _version(lines: list[str]) -> str | None:
    for line in lines:
        if found := _VERSION.match(line):
            return found[1]
    return None

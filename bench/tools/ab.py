"""ab: closed loop, for a time or a count; HTTP/1.0, one thread."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bench.tools.parsed import Parsed, absent
from bench.tools.reading import (
    COUNT,
    DECIMAL,
    PERCENTILES,
    Cursor,
    Draft,
    clip,
    lines_of,
    read_report,
    scaled,
    unreadable,
)
from bench.tools.tool import HTTP, Command, Load, Tool, check_duration_or_count, header_options, printed, whole

METHODS = ("GET", "HEAD", "POST", "PUT")
_START = "Server Software:"
_ABOUT = r"(?:Server|SSL/TLS|TLS Server|Document) [A-Z][A-Za-z ]{2,16}:.*"
_CONCURRENCY = rf"Concurrency Level: {COUNT}"
_TIME_TAKEN = rf"Time taken for tests: {DECIMAL} seconds"
_COMPLETE = rf"Complete requests: {COUNT}"
_KINDS = rf"\(Connect: {COUNT}(?:, Receive: {COUNT})?, Length: {COUNT}, Exceptions: {COUNT}\)"
# The development version has more lines on the load.
_LOAD_LINES = r"(?:Number of workers|Concurrency achieved|Rampup delay|Number of requests): [0-9].*"
_RPS = rf"Requests per second: {DECIMAL}(?: \[#/sec\] \(mean\))?"
_PER_REQUEST = rf"Time per request: {DECIMAL} \[ms\] \(mean(?:, across all concurrent requests)?\)"
_RATE = rf"Transfer rate: {DECIMAL} (?:\[Kbytes/sec\]|kb/s) received"
_LONGEST = rf"100% {COUNT} \((?:longest|last) request\)"

_VERSION = r"This is ApacheBench, Version ([0-9A-Za-z.-]{1,20})(?![0-9A-Za-z.-]| <i>)"
_APR_ERROR = r"\bapr_[a-z_]{1,40}(?:\(\))?(?: for [^:]{1,80})?: ([^()\n]{1,120}) \([0-9]{1,9}\)$"
_FORMATS = {
    "csv": "Percentage served,Time in ms",
    "gnuplot": "starttime seconds ctime dtime ttime wait",
    "html": "<p>|<table",
}


class Ab(Tool):
    """ApacheBench; it counts failed receives as completed requests."""

    name = "ab"
    speaks = HTTP
    duration_digit_s = 0.0005
    latency_digit_s = 0.0005
    ends_frozen = True
    told_status = 1
    uncounted = ("connect",)

    def refusal(self, load: Load) -> str | None:
        """Also refuse what only a user's own app has: HTTP methods for which ab has no option, and redirects."""
        if cause := super().refusal(load):
            return cause
        if load.exchange.method not in METHODS:
            return f"ab cannot send {load.exchange.method}"
        return "ab counts redirects as errors" if load.exchange.redirects else None

    def version(self) -> str:
        """The version in its banner."""
        return printed(r"Version ([0-9.]*)", "ab", "-V")

    def command(self, load: Load) -> Command:
        """`-l`: allow bodies of different length; `-r`: count connection resets and go on; `-q`: no progress output."""
        check_duration_or_count(load)
        words = ["ab", "-q", "-l", "-r", "-s", whole("timeout", load.timeout_s), "-c", str(load.connections)]
        words += ["-k"] if load.keepalive else []
        body = load.body_file or "/dev/null"
        options = {"GET": [], "HEAD": ["-i"], "POST": ["-p", body], "PUT": ["-u", body]}
        words += [*options[load.exchange.method], *header_options(load)]
        if load.duration_s is not None:
            # -t also sets a count of 50000; a later -n overrides it.
            words += ["-t", whole("duration", load.duration_s), "-n", "10000000"]
        else:
            words += ["-n", str(load.count)]
        return Command((*words, load.url))

    def cpus(self, threads: int, cpus: int) -> int:
        """Only one: ab has a single thread."""
        return min(cpus, 1)

    def keeps_alive(self, argv: Sequence[str]) -> bool:
        """Only with `-k`."""
        return "-k" in argv

    def other_load(self, output: bytes, connections: int | None, duration_s: float | None) -> Iterator[str]:
        """The number of connections, if it is not the one planned."""
        ran = re.search(r"^Concurrency Level: +([0-9]+)$", output.decode(errors="replace"), re.MULTILINE)
        if ran and int(ran[1]) != connections:
            yield f"ab used {int(ran[1])} connections instead of {connections}"

    def parse(self, data: bytes) -> Parsed:
        """Parse its text report (1.3 to 2.3): times are whole ms; one request may be several failures.

        If responses differed in length from the first one, they may or may not be good: `ok` is None and `ok_range` is
        set.
        """
        return read_report("ab", lines_of(data, _LONGEST), (_START, _CONCURRENCY), _read, _explain)


def _read(cursor: Cursor, draft: Draft) -> None:
    figures, errors = draft.figures, draft.errors
    figures["tool_version"] = _version(cursor.lines[: cursor.at])

    cursor.take(_START + ".*")
    cursor.need(_CONCURRENCY, "the Concurrency Level line", _ABOUT, _LOAD_LINES)
    duration = figures["duration_s"] = float(cursor.need(_TIME_TAKEN, "the Time taken line", _LOAD_LINES)[1])
    complete = figures["requests"] = int(cursor.need(_COMPLETE, "the Complete requests line", _LOAD_LINES)[1])
    failed = int(cursor.need(rf"Failed requests: {COUNT}", "the Failed requests line")[1])
    connect = receive = length = exceptions = 0
    counts_receive = True
    if failed:
        kinds = cursor.need(_KINDS, "the kinds of failure")
        connect, receive, length, exceptions = (int(kind or 0) for kind in kinds.groups())
        counts_receive = kinds[2] is not None  # not ab 2.0
    # Until 1.3 it counted broken pipes instead.
    write = cursor.take(rf"(?:Write|Broken pipe) errors: {COUNT}")
    bad = cursor.take(rf"Non-2xx responses: {COUNT}")
    keepalive = cursor.take(rf"Keep-Alive requests: {COUNT}")
    cursor.take(rf"Keep-Alive aborts: {COUNT}")
    transferred = cursor.need(rf"Total transferred: {COUNT} bytes", "the Total transferred line")

    errors.update(
        connect=connect,
        read=receive if counts_receive else None,
        write=int(write[1]) if write else None,
        other={"length": length, "exceptions": exceptions},
    )
    # Optional lines come before this one, so those still missing had nothing to count, unless one of them is the line
    # that is not understood.
    if bad or not cursor.odd:
        non2xx = errors["non2xx"] = int(bad[1]) if bad else 0
        most = complete - non2xx - receive
        if most >= 0 and length:
            figures["ok_range"] = (max(0, most - length - exceptions), most)
        elif most >= 0:
            figures["ok"] = most
    extra = {"failed": failed} if failed else {}
    if keepalive:
        extra["keepalive_requests"] = int(keepalive[1])
    figures["extra"] = extra or None
    figures["bytes_read"] = int(transferred[1])
    figures["bytes_exact"] = True

    cursor.take(rf"Total (?:body sent|POSTed|PUT): {COUNT}")
    cursor.need(rf"HTML transferred: {COUNT} bytes", "the HTML transferred line")
    if complete and duration:
        figures["rps"] = float(cursor.need(_RPS, "the Requests per second line")[1])
        cursor.need(_RATE, "the Transfer rate line", _PER_REQUEST)
    elif rps := cursor.take(_RPS):
        figures["rps"] = float(rps[1])
        while cursor.take(_PER_REQUEST, _RATE):
            pass
    while cursor.take(rf"{DECIMAL} kb/s (?:sent|total)"):
        pass
    if complete:
        _read_times(cursor, draft, complete)


def _read_times(cursor: Cursor, draft: Draft, complete: int) -> None:
    latency = draft.latency
    cursor.need(r"Conn+ection Times \(ms\)", "the table of times")
    cursor.need(r"min (?:mean\[\+/-sd\] median|avg) max", "the columns of the table of times")
    while cursor.take(r"(?:Connect|Processing|Waiting): [0-9. -]+"):
        pass
    if row := cursor.take(rf"Total: {COUNT} {COUNT} {DECIMAL} {COUNT} {COUNT}"):
        latency.update(
            min=scaled(row[1], -3), mean=scaled(row[2], -3), stdev=scaled(row[3], -3), max=scaled(row[5], -3)
        )
    else:
        row = cursor.need(rf"Total: {COUNT} {COUNT} {COUNT}", "the Total row")
        latency.update(min=scaled(row[1], -3), mean=scaled(row[2], -3), max=scaled(row[3], -3))
    while cursor.take(r"(?:ERROR|WARN?ING): The median and mean .*|(?:deviation apart\.|These results) .*"):
        pass
    # For a single request, ab prints no percentiles. With -d it omits them too, but that counts as truncated output.
    if complete == 1:
        return
    cursor.need(r"Percentage of the requests served within a certain time \(ms\)", "the percentiles")
    while percentile := cursor.take(rf"([0-9]{{1,2}})% {COUNT}"):
        if percentile[1] in PERCENTILES:
            latency["p" + percentile[1]] = scaled(percentile[2], -3)
    cursor.need(_LONGEST, "the line of the longest request")


def _explain(lines: list[str]) -> Parsed:
    figures: dict[str, Any] = {"tool_version": _version(lines)}
    failure = None
    for line in lines:
        if error := re.search(_APR_ERROR, line):
            failure = error[1].lower()
        elif completed := re.fullmatch(rf"Total of {COUNT} requests completed", line):
            figures["requests"] = int(completed[1])
    if failure:
        # This text is APR's own; all other errors are texts of the system.
        timeout = failure == "the timeout specified has expired"
        return absent("ab", "timeout" if timeout else failure, **figures)
    if figures["tool_version"]:
        last = next(line for line in reversed(lines) if line)
        return absent("ab", f"ab ended before its report, after {clip(last)!r}", **figures)
    return unreadable("ab", lines, _FORMATS)


def _version(lines: list[str]) -> str | None:
    return next((found[1] for line in lines if (found := re.search(_VERSION, line))), None)

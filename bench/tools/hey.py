"""hey: closed loop, for a time or a count, optionally with a rate limit per connection."""

from __future__ import annotations

from collections import Counter

from bench.core.formats import plain
from bench.tools.parsed import Parsed
from bench.tools.reading import (
    BLANK,
    COUNT,
    DECIMAL,
    PERCENTILES,
    Cursor,
    Draft,
    go_error_kind,
    lines_of,
    read_report,
    unreadable,
)
from bench.tools.tool import Command, Load, Tool, check_duration_or_count, header_options, printed, whole

_SECONDS = rf"\t *(NaN|{DECIMAL}) secs"

_START = "Summary:$"
_TOTAL = rf"  Total:\t *{DECIMAL} secs"
_SLOWEST = rf"  Slowest:\t *{DECIMAL} secs"
_FASTEST = rf"  Fastest:\t *{DECIMAL} secs"
_AVERAGE = rf"  Average:{_SECONDS}"
_RPS = rf"  Requests/sec:\t *{DECIMAL}"
_DATA = rf"  Total data:\t{COUNT} bytes"
_LATENCIES = "Latency distribution:"
_PERCENTILE = rf"  ([0-9]{{1,2}})% in {DECIMAL} secs"
_STATUSES = "Status code distribution:"
_STATUS = rf"  \[([0-9]{{1,3}})\]\t{COUNT} responses"
_ERRORS = "Error distribution:"
_ERROR = rf"  \[{COUNT}\]\t(.+)"
_FORMATS = {"csv": "response-time,DNS"}

_MOST_RESULTS = 1_000_000
"""hey keeps at most this many results, but its rate counts all requests."""


class Hey(Tool):
    """hey; also used for the warm-up of all tools."""

    name = "hey"
    duration_digit_s = 0.00005
    latency_digit_s = 0.00005
    limits_rate = True
    closes = "-disable-keepalive"

    def version(self) -> str:
        """The version of the Debian package: hey does not print one."""
        return printed(r"\A([0-9]\S*)", "dpkg-query", "--show", "--showformat", "${Version}", "hey")

    def command(self, load: Load) -> Command:
        """The rate option of hey is per connection, hence the division."""
        check_duration_or_count(load)
        timeout, request = whole("timeout", load.timeout_s), load.request
        words = ["hey", "-c", str(load.connections), "-t", timeout, "-disable-redirects"]
        words += ["-n", str(load.count)] if load.duration_s is None else ["-z", f"{plain(load.duration_s)}s"]
        if load.rate is not None and load.connections:
            words += ["-q", plain(load.rate / load.connections)]
        words += [] if load.keepalive else ["-disable-keepalive"]
        words += [] if request.method == "GET" else ["-m", request.method]
        words += [*header_options(load), *(["-D", request.body_file] if request.body_file else [])]
        return Command((*words, load.url))

    def parse(self, data: bytes) -> Parsed:
        """Parse its text report (0.1.4): seconds have four decimals; failed requests are in the Error distribution."""
        return read_report("hey", lines_of(data), _START, _read, lambda lines: unreadable("hey", lines, _FORMATS))

    def counted_in_rate(self, parsed: Parsed) -> int | None:
        """All attempts: hey also counts requests without a response."""
        return parsed.attempts

    def requests_of(self, count: int, connections: int) -> int:
        """Rounded down, since hey sends the same number on each connection."""
        return count // connections * connections


def _read(cursor: Cursor, draft: Draft) -> None:
    figures, latency = draft.figures, draft.latency
    cursor.need(_START, "the summary")
    duration = figures["duration_s"] = float(cursor.need(_TOTAL, "the Total line")[1])
    slowest = cursor.need(_SLOWEST, "the Slowest line")
    fastest = cursor.need(_FASTEST, "the Fastest line")
    average = cursor.need(_AVERAGE, "the Average line")
    # Without any response, the average is NaN, and the zeros next to it are placeholders.
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
        # hey prints "0% in 0.0000 secs" if there were too few responses for a percentile.
        if row[1] in PERCENTILES:
            latency["p" + row[1]] = float(row[2])

    cursor.seek(_STATUSES, "the Status code distribution")
    status: dict[str, int] = {}
    while row := cursor.take(_STATUS):
        # Go's client accepts any three digits, and hey prints them as a number: [2] is the (invalid) status 002.
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

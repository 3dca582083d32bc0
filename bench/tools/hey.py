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

_GAP = r"[\t ]+"  # a terminal shows tabs as spaces
_SECONDS = rf"{_GAP}(NaN|{DECIMAL}) secs"

_START = "Summary:$"
_TOTAL = rf"  Total:{_GAP}{DECIMAL} secs"
_SLOWEST = rf"  Slowest:{_GAP}{DECIMAL} secs"
_FASTEST = rf"  Fastest:{_GAP}{DECIMAL} secs"
_AVERAGE = rf"  Average:{_SECONDS}"
_RPS = rf"  Requests/sec:{_GAP}{DECIMAL}"
_DATA = rf"  Total data:{_GAP}{COUNT} bytes"
_SIZE = rf"  Size/request:{_GAP}{COUNT} bytes"
_HISTOGRAM = "Response time histogram:"
_BAR = rf"  {DECIMAL} \[{COUNT}\]{_GAP}?\|?■*"
_LATENCIES = "Latency distribution:"
# 0.1.5 prints two percent signs.
_PERCENTILE = rf"  ([0-9]{{1,2}})%%? in {DECIMAL} secs"
_DETAILS = r"Details \(average, fastest, slowest\):"
_DETAIL = rf"  [A-Za-z+ -]{{1,20}}:{_GAP}(?:NaN|{DECIMAL}) secs(?:, {DECIMAL} secs){{2}}"
_STATUSES = "Status code distribution:"
_STATUS = rf"  \[([0-9]{{1,3}})\]{_GAP}{COUNT} responses"
_ERRORS = "Error distribution:"
_ERROR = rf"  \[{COUNT}\]{_GAP}(.+)"
_FORMATS = {"csv": "response-time,DNS"}
_OTHERS = {"oha": "  Success rate:"}
_DIGIT = 0.00005
"""The rounding error of its duration and its rate."""

_MOST_RESULTS = 1_000_000
"""hey keeps at most this many results, but its rate counts all requests."""


class Hey(Tool):
    """hey; also used for the warm-up of all tools."""

    name = "hey"
    duration_digit_s = _DIGIT
    latency_digit_s = _DIGIT
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
        # Go's client ignores the header Host.
        hosts = [line.partition(":")[2].strip() for line in request.headers if line.lower().startswith("host:")]
        words += ["-host", hosts[-1]] if hosts else []
        words += [*header_options(load), *(["-D", request.body_file] if request.body_file else [])]
        return Command((*words, load.url))

    def parse(self, data: bytes) -> Parsed:
        """Parse its text report (0.1.4, 0.1.5): seconds have four decimals; failed requests are in the Error
        distribution.
        """
        lines = lines_of(data, _STATUS)
        return read_report(
            "hey", lines, _START, _read, lambda lines: unreadable("hey", lines, _FORMATS), others=_OTHERS
        )

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

    cursor.seek(_LATENCIES, "the Latency distribution", _SIZE, _HISTOGRAM, _BAR)
    while row := cursor.take(_PERCENTILE):
        # hey prints "0% in 0.0000 secs" if there were too few responses for a percentile.
        if row[1] in PERCENTILES:
            latency["p" + row[1]] = float(row[2])

    cursor.seek(_STATUSES, "the Status code distribution", _DETAILS, _DETAIL)
    status: dict[str, int] = {}
    while row := cursor.take(_STATUS):
        # Go's client accepts any three digits, and hey prints them as a number: [2] is the (invalid) status 002.
        status[row[1].zfill(3)] = int(row[2])
    requests = sum(status.values())
    # Without the blank lines at the end, only its rate tells whether statuses or errors are missing.
    all_there = _is_all(requests, rps, duration)
    if not (cursor.ended and all_there):
        cursor.need(BLANK, "the end of the status codes")
    ok = sum(count for code, count in status.items() if code.startswith("2"))
    figures["requests"] = requests
    figures["ok"] = ok
    draft.errors.update(non2xx=requests - ok, status=status)

    kinds = _read_errors(cursor, all_there=all_there)
    draft.errors.update((kind, kinds[kind]) for kind in ("connect", "read", "timeout", "other"))
    draft.errors["write"] = kinds.get("write")
    attempts = figures["attempts"] = requests + kinds.total()
    if requests == _MOST_RESULTS and rps * duration > attempts * 1.001:
        figures["extra"] = {"results_kept": requests}


def _read_errors(cursor: Cursor, *, all_there: bool) -> Counter[str]:
    """Counts of errors by kind, from the Error distribution; `all_there`: there are none."""
    kinds: Counter[str] = Counter()
    if cursor.take(_ERRORS):
        while not cursor.take(BLANK):
            if row := cursor.take(_ERROR):
                kinds[go_error_kind(row[2])] += int(row[1])
            else:
                cursor.need(_ERROR, "the end of the errors")
    elif not (cursor.ended and all_there):
        cursor.need(BLANK, "the Error distribution or the end")
    return kinds


def _is_all(requests: int, rps: float, duration_s: float) -> bool:
    """Whether so many requests give this rate, which counts lost ones too: as exactly as it is printed, to 0.1 %."""
    uncertain = _DIGIT * (rps + duration_s)
    return abs(rps * duration_s - requests) <= uncertain <= 0.001 * requests

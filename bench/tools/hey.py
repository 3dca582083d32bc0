"""hey: closed loop, for a time or a count, optionally with a rate limit per connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from bench.core.formats import plain
from bench.tools.parsed import Parsed
from bench.tools.reading import (
    COUNT,
    DECIMAL,
    PERCENTILES,
    Cursor,
    Draft,
    Unfinished,
    clip,
    go_error_kind,
    lines_of,
    read_report,
    unreadable,
)
from bench.tools.tool import HTTP, Command, Load, Tool, check_duration_or_count, header_options, printed, whole

_SECS = rf"{DECIMAL} secs\.?"  # with the full stop in 2014
_START = "Summary:$"
_PERCENTS = (10, 25, 50, 75, 90, 95, 99)
_HISTOGRAM = "Response time histogram:"
# Terminals without the sign of the bars show others.
_BAR = rf"{DECIMAL} \[{COUNT}\](?: ?\|)?[^0-9A-Za-z]*"
_LATENCIES = "Latency distribution:"
# From 0.1.3 on, it prints two percent signs.
_PERCENTILE = rf"([0-9]{{1,2}})%%? in {_SECS}"
_DETAILS = r"Details \(average, fastest, slowest\):|Detailed Report:"
_PART = r"DNS[+ -][a-z]{1,9}|[Rr]eq[a-z]{0,9} [Ww]rite|[Rr]esp[a-z]{0,9} (?:[Ww]ait|[Rr]ead)|Average|Fastest|Slowest"
_DETAIL = rf"(?:{_PART}):(?: (?:NaN|{DECIMAL}) secs(?:, {DECIMAL} secs){{0,2}})?"
_SKIPPED = (_HISTOGRAM, _BAR, _DETAILS, _DETAIL)
_STATUSES = "Status code distribution:"
_STATUS = rf"\[([0-9]{{1,3}})\] {COUNT} responses"
_FORMATS = {"csv": "response-time"}
_OTHERS = {"oha": "Success rate:", "ghz": "Count: [0-9]+$"}
_DIGIT = 0.00005
"""The rounding error of its duration and its rate."""

_MOST_RESULTS = 1_000_000
"""hey keeps at most this many results, but its rate counts all requests."""


class Hey(Tool):
    """hey; also used for the warm-up of all tools."""

    name = "hey"
    speaks = HTTP
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
        words = ["hey", "-c", str(load.connections), "-t", whole("timeout", load.timeout_s), "-disable-redirects"]
        words += ["-n", str(load.count)] if load.duration_s is None else ["-z", f"{plain(load.duration_s)}s"]
        if load.rate is not None and load.connections:
            words += ["-q", plain(load.rate / load.connections)]
        words += [] if load.keepalive else ["-disable-keepalive"]
        words += [] if load.exchange.method == "GET" else ["-m", load.exchange.method]
        # Go's client ignores the header Host.
        hosts = [line.partition(":")[2].strip() for line in load.headers if line.lower().startswith("host:")]
        words += ["-host", hosts[-1]] if hosts else []
        words += [*header_options(load), *(["-D", load.body_file] if load.body_file else [])]
        return Command((*words, load.url))

    def parse(self, data: bytes) -> Parsed:
        """Parse its text report (also of boom): seconds have four decimals; failed requests are in the Error
        distribution.
        """
        lines = lines_of(data, f"{_STATUS}|{_PERCENTILE}")
        return read_report(
            "hey", lines, (_START,), _read, lambda lines: unreadable("hey", lines, _FORMATS), others=_OTHERS
        )

    def counted_in_rate(self, parsed: Parsed) -> int | None:
        """All attempts: hey also counts requests without a response."""
        return parsed.attempts

    def requests_of(self, count: int, connections: int) -> int:
        """Rounded down, since hey sends the same number on each connection."""
        return count // connections * connections


def _read(cursor: Cursor, draft: Draft) -> None:
    duration, rps = _read_summary(cursor, draft)
    first = cursor.need(f"{_LATENCIES}|{_STATUSES}", "the Latency distribution", *_SKIPPED)[0]
    percent, early = None, False
    if first == _LATENCIES:
        percent = _read_percentiles(cursor, draft)
        cursor.need(_STATUSES, "the Status code distribution", *_SKIPPED)
    status = _read_statuses(cursor)
    requests = sum(status.values())
    if first == _STATUSES and cursor.take(_HISTOGRAM):
        # Until 0.1.0, the status codes come first, the rate does not count errors, and no blank line ends the report.
        early = True
        cursor.need(_LATENCIES, "the Latency distribution", *_SKIPPED)
        percent = _read_percentiles(cursor, draft)
        if requests and percent != max((p for p in _PERCENTS if (requests - 1) * 100 // requests >= p), default=0):
            raise Unfinished("cut off before the last percentile")

    def counted(total: int) -> bool:
        """Whether the rate tells that nothing is missing, as the blank lines do that an editor strips from the end."""
        return not early and _is_all(total, rps, duration)

    if cursor.ended and not early and not counted(requests):
        raise Unfinished("cut off before the end of the status codes")
    ok = sum(count for code, count in status.items() if code.startswith("2"))
    draft.figures.update(requests=requests, ok=ok)
    draft.errors.update(non2xx=requests - ok, status=status)

    # The end of an early report, or of its statuses, does not tell that there are no errors.
    if any(cursor.lines[cursor.at :]) or not (early or percent is None):
        kinds = _read_errors(cursor, counted, requests)
        draft.errors.update((kind, kinds[kind]) for kind in ("connect", "read", "timeout", "other"))
        draft.errors["write"] = kinds.get("write")
        attempts = draft.figures["attempts"] = requests + kinds.total()
        if requests == _MOST_RESULTS and rps * duration > attempts * 1.001:
            draft.figures["extra"] = {"results_kept": requests}
    if percent is None:
        raise Unfinished("no Latency distribution")


def _read_errors(cursor: Cursor, counted: Callable[[int], bool], requests: int) -> Counter[str]:
    """Counts of errors by kind; Unfinished if some may be missing."""
    left = cursor.lines[cursor.at :]
    kinds: Counter[str] = Counter()
    if cursor.take("Error distribution:"):
        while row := cursor.take(rf"\[{COUNT}\] (.+)"):
            kinds[go_error_kind(row[2])] += int(row[1])
        if not cursor.ended and (more := cursor.lines[cursor.at].strip("`")):
            raise Unfinished(f"{clip(more)!r} instead of the end of the errors")
        if cursor.ended and not counted(requests + kinds.total()):
            raise Unfinished("cut off before the end of the errors")
    elif not (any(left) or len(left) > 1 or counted(requests)):
        raise Unfinished("cut off before the Error distribution or the end")
    return kinds


def _read_summary(cursor: Cursor, draft: Draft) -> tuple[float, float]:
    """Its duration and rate."""
    cursor.need(_START, "the summary")
    duration = draft.figures["duration_s"] = float(cursor.need(rf"Total: {_SECS}", "the Total line")[1])
    slowest = cursor.need(rf"Slowest: {_SECS}", "the Slowest line")
    fastest = cursor.need(rf"Fastest: {_SECS}", "the Fastest line")
    average = cursor.need(rf"Average: (NaN|{DECIMAL}) secs\.?", "the Average line")
    # Without any response, the average is NaN, and the zeros next to it are placeholders.
    if average[1] != "NaN":
        draft.latency.update(mean=float(average[1]), min=float(fastest[1]), max=float(slowest[1]))
    rps = draft.figures["rps"] = float(cursor.need(rf"Requests/sec: {DECIMAL}", "the Requests/sec line")[1])
    cursor.take("Speed index: .*")
    if data := cursor.take(rf"Total data: {COUNT} bytes"):
        draft.figures.update(bytes_read=int(data[1]), bytes_exact=True)
        cursor.take(rf"Size/request: {COUNT} bytes")
    return duration, rps


def _read_percentiles(cursor: Cursor, draft: Draft) -> int:
    """The last percentile."""
    percent = 0
    while row := cursor.take(_PERCENTILE):
        # hey prints "0% in 0.0000 secs" if there were too few responses for a percentile.
        percent = int(row[1])
        if row[1] in PERCENTILES:
            draft.latency["p" + row[1]] = float(row[2])
    return percent


def _read_statuses(cursor: Cursor) -> dict[str, int]:
    """Counts of responses by status code."""
    status: dict[str, int] = {}
    while row := cursor.take(_STATUS):
        # Go's client accepts any three digits, and hey prints them as a number: [2] is the (invalid) status 002.
        status[row[1].zfill(3)] = int(row[2])
    if other := cursor.take(r"\[.*"):
        raise Unfinished(f"{clip(other[0])!r} instead of the end of the status codes")
    return status


def _is_all(requests: int, rps: float, duration_s: float) -> bool:
    """Whether so many requests give this rate, which counts lost ones too: as exactly as it is printed, to 0.1 %."""
    uncertain = _DIGIT * (rps + duration_s)
    return abs(rps * duration_s - requests) <= uncertain <= 0.001 * requests

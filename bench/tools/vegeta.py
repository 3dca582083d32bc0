"""vegeta: open loop, at a rate, for a time."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from bench.core.formats import plain
from bench.core.programs import guarded
from bench.tools.parsed import Parsed
from bench.tools.reading import (
    COUNT,
    DECIMAL,
    Cursor,
    Draft,
    Unfinished,
    clip,
    count_at,
    go_error_kind,
    lines_of,
    member,
    rate_at,
    read_json,
    read_report,
    scaled,
)
from bench.tools.tool import HTTP, OUTPUT, Command, Load, Tool, printed, temporary, whole

RESULTS, REPORT, LAG, LATENCIES = "results.bin", "output.json", "lag.json", "latencies.json"
REPORTED_S = 600.0
SPARE_FILES = 256
"""File descriptors reserved for everything but connections."""
OPENED_PER_CPU = 2_000
"""Up to this rate, in requests/s per CPU, every request may open a connection, which takes 0.5 ms of CPU time."""
CONNECTIONS = 64
"""Limit of connections above that rate, and at common rates: opening more in the middle of a load would delay it."""
OPENED_S, SETTLE_S = 0.05, 0.1
"""Before the load, as many connections are opened as requests are due in the first of these times, then requests are
sent at its rate for the second: an idle service answers its first requests slowly."""

_LATENCIES = {
    "min": "min", "mean": "mean", "50th": "p50", "90th": "p90", "95th": "p95", "99th": "p99", "max": "max"
}  # fmt: skip

# Its first member, whichever that is: whoever filters or sorts a report changes the order.
_JSON_START = (
    r'^[ \t]*\{\s*"(?:latencies|bytes_in|bytes_out|buckets|duration|earliest|end|errors|latest|rate|requests'
    r'|status_codes|success|throughput|wait)":'
)
_NOT_IN_OLD = ("min", "50th", "90th")
"""Latencies that its reports have since 1.1 and 12.8."""

_TEXT_LATENCIES = {label.removesuffix("th"): name for label, name in _LATENCIES.items()}
_START = r"Requests \[total"
_ROW = r"(Requests|Duration|Latencies|Bytes In|Bytes Out|Success) \[([a-z0-9, ]{1,60})\] (.+)"
_CODES = r"Status Codes \[code:count\] ?(.*)"
_ERROR_SET = "Error Set:"
_WHOLE = (
    f"{_ERROR_SET}|EOF|connection refused|reset by peer|broken pipe|no such host|open files|requested address"
    r"|i/o timeout|headers\)|body\)"
)
"""Ends of lines that tell that they are not cut off."""
_DURATION = rf"(?:(?:([0-9]{{1,6}})h)?([0-9]{{1,4}})m)?{DECIMAL}s|{DECIMAL}(ns|ms|us|[^ -~]{{1,3}}s)"
_EXPONENTS = {"ns": -9, "ms": -3}
"""All others are microseconds: the sign that is not ASCII is often damaged."""

_FORMATS = {
    "gob": r"[^\n]{0,16}\x06Result\x01",
    "hist": "Bucket",
    "hdrplot": r"Value\(ms\) Percentile TotalCount",
    "csv": r"[0-9]{10,20},[0-9]{1,5},[0-9]{1,20},",
    "jsonl": r'\{"attack":',
}


class Vegeta(Tool):
    """Attacks with loadgen/attack.go, which opens its connections before the load.

    Saves vegeta's binary results and makes reports from them after the load, because decoding is slow.
    """

    name = "vegeta"
    speaks = HTTP
    duration_digit_s = 0.0
    latency_digit_s = 0.0
    output = REPORT
    results = RESULTS
    more_files = (LAG, LATENCIES)
    limits_rate = True
    closes = "-keepalive=false"
    mixes_targets = True
    leads_in = True
    all_have_status = True

    def refusal(self, load: Load) -> str | None:
        """It only takes rates."""
        return None if load.open_loop else "vegeta is open loop: it takes rates (r500, knee:p99=50ms)"

    def version(self) -> str:
        """The version it was built with."""
        return printed(r"^Version: v?(.*)", "vegeta", "-version")

    def command(self, load: Load) -> Command:
        """Targets are passed on standard input."""
        words = ["vegeta-attack", "-rate", whole("rate", load.rate), "-duration", f"{plain(load.duration_s)}s"]
        words += ["-settle", f"{plain(settle_s(load))}s", "-open", str(opened(load))]
        words += ["-max-connections", str(connections(load)), "-max-workers", str(workers(load))]
        words += ["-timeout", f"{plain(load.timeout_s)}s", *([] if load.keepalive else ["-keepalive=false"])]
        if load.requests:
            origin = replace(load.exchange, path="").url(load.at)
            targets = Path(load.requests, "targets.txt").read_text()
            here = re.sub(r"^([A-Z]* )http://ORIGIN/", lambda line: f"{line[1]}{origin}/", targets, flags=re.MULTILINE)
            return Command(tuple(words), here.rstrip("\n"))
        if load.body_file:
            words += ["-body", load.body_file]
        return Command(tuple(words), f"{load.exchange.method} {load.url}")

    def lead_requests(self, load: Load) -> int:
        """One on each connection that is opened, then those of the time in which the service settles."""
        return opened(load) + round((load.rate or 0) * settle_s(load))

    def save(self, load: Load, folder: Path) -> bool:
        """Make both reports, lag.json and latencies.json; if one fails, the others are still made."""
        results = temporary(folder, RESULTS)
        with temporary(folder, OUTPUT).open("ab") as said:
            with temporary(folder, REPORT).open("wb") as report:
                done = [_reported("json", results, stdout=report, stderr=said)]
            done.append(_reported("text", results, stdout=said, stderr=said))
        try:
            done.append(_save_schedule(load, folder))
        except (OSError, ValueError) as error:
            print(f"measure: the results of vegeta: {error}", file=sys.stderr)
            return False
        return all(done)

    def parse(self, data: bytes) -> Parsed:
        """Parse its text or JSON report. Status `0` is a request without a response.

        The JSON is exact (nanoseconds); the text is rounded, to seconds from a minute on. vegeta lists each error text
        once, without a count, so if several kinds share status 0, their counts are None.
        """
        return read_report("vegeta", lines_of(data, _WHOLE), (_START,), _read, lambda _: _parse_json(data))

    def counted_in_rate(self, parsed: Parsed) -> int | None:
        """Responses with status 2xx or 3xx."""
        status = parsed.errors.status
        return None if status is None else sum(n for code, n in status.items() if code[:1] in ("2", "3"))


def workers(load: Load) -> int:
    """The number of workers: enough for all requests that can be in flight before the timeout, or the limit of files.

    With fewer, a stall of the server would delay sending, which hides the stall. If the limit of files makes vegeta
    fall behind, its report shows that.
    """
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    limits = [int(load.rate or 0) * (int(load.timeout_s) + 1)]
    limits += [] if files == resource.RLIM_INFINITY else [files - SPARE_FILES]
    return min(*limits, limits[0] if load.most_workers is None else load.most_workers)


def settle_s(load: Load) -> float:
    """How long requests are sent before the load, in seconds: at least one of them, if any."""
    return max(SETTLE_S, 1 / (load.rate or 1.0)) if load.leads_in else 0.0


def opened(load: Load) -> int:
    """The number of connections that are opened before the load."""
    most = min(CONNECTIONS, connections(load), math.ceil(OPENED_S * (load.rate or 0)))
    return most if load.keepalive and load.leads_in else 0


def connections(load: Load) -> int:
    """The highest number of connections: as many as workers, or at high rates, enough for the rate.

    A load with a p99 of `latency_s` has a mean latency of at most half of that, so it needs `rate * latency_s / 2`
    connections. A request that has to wait for a connection counts as late.
    """
    most, rate, cpus = workers(load), load.rate or 0, len(os.sched_getaffinity(0))
    if load.most_connections:
        return min(most, load.most_connections)
    if rate <= OPENED_PER_CPU * cpus:
        return most
    return min(most, max(CONNECTIONS, math.ceil(rate * load.latency_s / 2)))


def _reported(kind: str, results: Path, *, stdout: IO[bytes], stderr: IO[bytes]) -> bool:
    words = guarded(REPORTED_S, 5, "vegeta", "report", f"-type={kind}", str(results))
    try:
        return (
            subprocess.run(words, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, check=False).returncode == 0
        )
    except OSError:
        return False


def _save_schedule(load: Load, folder: Path) -> bool:
    """Write lag.json and latencies.json; ValueError if the results cannot be read."""
    from bench.tools.send_lag import save_schedule

    words = ["vegeta", "encode", "-to", "csv", str(temporary(folder, RESULTS))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace") as encoder:
        assert encoder.stdout
        rate, lag, latencies = float(load.rate or 0), temporary(folder, LAG), temporary(folder, LATENCIES)
        save_schedule(encoder.stdout, rate, load.timeout_s, workers(load), lag=lag, latencies=latencies)
    return encoder.returncode == 0


def _read(cursor: Cursor, draft: Draft) -> None:
    rows = set()
    while (row := cursor.need(f"{_ROW}|{_CODES}", "the Status Codes row"))[1]:
        labels, values = row[2].split(", "), row[3].split(", ")
        if len(labels) != len(values):
            raise Unfinished(f"the values of the {row[1]} row do not match its labels")
        rows.add(row[1])
        _read_row(draft, row[1], dict(zip(labels, values, strict=True)))

    status: dict[str, int] = {}
    for text in row[4].split():
        code = re.fullmatch(rf"([0-9]{{1,3}}):{COUNT}", text)
        if not code:
            raise Unfinished(f"{clip(text)!r} is not a status code with its count")
        status[code[1]] = int(code[2])
    total = draft.figures.get("attempts")
    if sum(status.values()) != total:
        raise Unfinished(f"the status codes are not those of {total} requests")
    _count_answers(draft, status)
    cursor.need(_ERROR_SET, "the Error Set")
    texts = []
    while not cursor.ended and cursor.lines[cursor.at].strip("`"):
        texts.append(cursor.lines[cursor.at])
        cursor.at += 1
    _check_error_set(status, texts)
    _count_errors(draft, status, texts)
    for name in ("Requests", "Duration", "Latencies", "Bytes In"):
        if name not in rows:
            raise Unfinished(f"no {name} row")


def _read_row(draft: Draft, name: str, row: Mapping[str, str]) -> None:
    """Take what is known of a row's values by label: versions have different ones."""
    extra = draft.figures.setdefault("extra", {})
    if name == "Requests":
        draft.figures.update(attempts=_count(row.get("total")), rps=_rate(row.get("throughput")))
        extra["rate"] = _rate(row.get("rate"))
    elif name == "Duration":
        draft.figures["duration_s"] = _seconds(row.get("total"))
        extra.update((f"{part}_s", _seconds(row[part])) for part in ("attack", "wait") if part in row)
    elif name == "Latencies" and draft.figures.get("attempts"):
        latencies = {name: row[label] for label, name in _TEXT_LATENCIES.items() if label in row}
        draft.latency.update((name, _seconds(text)) for name, text in latencies.items())
    elif name == "Bytes In":
        draft.figures.update(bytes_read=_count(row.get("total")), bytes_exact=True)


def _check_error_set(status: dict[str, int], texts: list[str]) -> None:
    """Raise Unfinished if a failing status has no error text: nothing else marks the end of the error set."""
    for code in status:
        if code == "0":
            explained = any(not _is_status(text) for text in texts)
        else:
            explained = 200 <= int(code) < 400 or any(text.startswith(code) for text in texts)
        if not explained:
            raise Unfinished(f"cut off before the error of status {code}")


def _count(text: str | None) -> int:
    if text is not None and re.fullmatch(COUNT, text):
        return int(text)
    raise Unfinished(f"{clip(str(text))!r} is not a count")


def _rate(text: str | None) -> float | None:
    if text is None or text in ("NaN", "+Inf"):
        return None
    # Fewer digits are those of a line that is wrapped.
    if re.fullmatch(r"[0-9]{1,15}\.[0-9]{2}", text):
        return float(text)
    raise Unfinished(f"{clip(text)!r} is not a rate")


def _seconds(text: str | None) -> float:
    """A duration as Go prints it: `1h2m3.5s`, `0s`, `260.963µs`."""
    match = re.fullmatch(_DURATION, text or "")
    if not match:
        raise Unfinished(f"{clip(str(text))!r} is not a duration")
    hours, minutes, seconds, number, unit = match.groups()
    if unit:
        return scaled(number, _EXPONENTS.get(unit, -6))
    return round(int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds), 9)


def _parse_json(data: bytes) -> Parsed:
    return read_json("vegeta", data, _JSON_START, _read_json, has="latencies", formats=_FORMATS)


def _count_answers(draft: Draft, status: dict[str, int]) -> None:
    answers = {code: count for code, count in status.items() if code != "0"}
    requests = sum(answers.values())
    ok = sum(count for code, count in answers.items() if code.startswith("2"))
    draft.figures.update(requests=requests, ok=ok)
    draft.errors.update(non2xx=requests - ok, status=status)


def _count_errors(draft: Draft, status: dict[str, int], texts: Iterable[str]) -> None:
    unanswered = status.get("0", 0)
    kinds = {go_error_kind(text) for text in texts if not _is_status(text)}
    if unanswered and not kinds:
        return
    draft.errors.update(connect=0, read=0, timeout=0)
    if unanswered:
        draft.errors.update(dict.fromkeys(kinds, unanswered if len(kinds) == 1 else None))


def _is_status(text: str) -> bool:
    """Whether an error text is a status line, such as `500 Internal Server Error`."""
    return text[:3].isdecimal() and text[3:4] in ("", " ")


def _read_json(report: Any, draft: Draft) -> None:
    """Reports have a throughput from 12.6 on, a rate from 5.6.3 on and a wait from 5.0.1 on."""
    total, attack = count_at(report, "requests"), count_at(report, "duration")
    wait = count_at(report, "wait") if "wait" in report else None
    rate, throughput = (rate_at(report, name) if name in report else None for name in ("rate", "throughput"))
    draft.figures.update(
        attempts=total,
        duration_s=(attack + (wait or 0)) / 1e9,
        rps=throughput,
        extra={"rate": rate, "attack_s": attack / 1e9, "wait_s": None if wait is None else wait / 1e9},
        bytes_read=count_at(report, "bytes_in", "total"),
        bytes_exact=True,
    )
    known = member(report, "latencies")
    latencies = {
        name: count_at(report, "latencies", label) / 1e9
        for label, name in _LATENCIES.items()
        if label not in _NOT_IN_OLD or not isinstance(known, dict) or label in known
    }
    if total:
        draft.latency.update(latencies)
    # Until 7.0, there is null instead of nothing.
    codes = member(report, "status_codes")
    codes = {} if codes is None else codes
    if not isinstance(codes, dict) or not all(re.fullmatch("[0-9]{1,3}", code) for code in codes):
        raise Unfinished("'status_codes' does not hold counts by status code")
    status = {code: count_at(codes, code) for code in codes}
    texts = member(report, "errors")
    texts = [] if texts is None else texts
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Unfinished("'errors' does not hold texts")
    _count_answers(draft, status)
    _count_errors(draft, status, texts)

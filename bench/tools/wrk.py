"""wrk: closed loop, for a fixed time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.core.files import as_object
from bench.tools.parsed import Parsed, absent
from bench.tools.reading import COUNT, DECIMAL, PERCENTILES, Cursor, Draft, lines_of, read_report, scaled, unreadable
from bench.tools.tool import HTTP, CannotError, Command, Load, Tool, printed, whole

_TIME = DECIMAL + "(us|ms|s|m|h)"
_SIGNED = r"(-?[0-9]{1,18})"

# Until 1.1 of 2012 it made a number of requests.
_START = r"(?:Running [0-9]{1,18}[smh]? test @|Making [0-9]{1,18} requests to) "
_OTHERS = {
    "wrk2": r"Thread calibration: |Latency Distribution \(HdrHistogram|#\[Mean =",
    "autocannon": r"[0-9]{1,18} connections?(?: with [0-9]{1,18} pipelining factor)?$",
}
_HEADER = r"Thread Stats Avg Stdev Max \+/- Stdev"
_TRANSFER = rf"Transfer/sec: {DECIMAL}[KMGTP]?B"

_LOAD = r"^Running ([0-9]+)([smh]) test @ .*\n +([0-9]+) threads? and ([0-9]+) connections?$"
_UNIT_S = {"s": 1, "m": 60, "h": 3600}
_EXPONENTS = {"us": -6, "ms": -3, "s": 0}


class Wrk(Tool):
    """wrk; its threads share the connections equally, and methods other than GET need a Lua script."""

    name = "wrk"
    speaks = HTTP
    duration_digit_s = 0.005
    latency_digit_s = 0.0
    mixes_targets = True
    times_opening = False
    closes = "Connection: close"
    ends_frozen = True
    counts_late = True
    adds_samples = True

    def duration_digit(self, duration_s: float) -> float:
        """It prints two decimals of a minute from 51 s on, and of an hour from 51 minutes on."""
        unit_s = next((size for size in (3600, 60) if duration_s >= 0.845 * size), 1)
        return self.duration_digit_s * unit_s

    def refusal(self, load: Load) -> str | None:
        """It takes no count, and without a script it only sends GET."""
        if cause := super().refusal(load):
            return cause
        if load.count:
            return "wrk runs for a time, not for a number of requests"
        script = load.exchange.targets or load.exchange.method == "GET"
        return None if script else "wrk cannot send a body without a Lua script"

    def version(self) -> str:
        """The version in its usage text, which it prints with exit status 1."""
        return printed(r"\Awrk (\S*)", "wrk", "-v")

    def command(self, load: Load) -> Command:
        """All numbers are whole. Threads must divide the connections, because wrk silently drops the remainder."""
        connections, threads = whole("connections", load.connections), whole("threads", load.threads)
        duration, timeout = whole("duration", load.duration_s), whole("timeout", load.timeout_s)
        if int(connections) % int(threads):
            raise CannotError(f"share {connections} connections evenly between {threads} threads")
        words = ["wrk", "-t", threads, "-c", connections, "-d", f"{duration}s", "--timeout", f"{timeout}s", "--latency"]
        words += [] if load.keepalive else ["-H", "Connection: close"]
        words += ["-s", f"{load.requests}/requests.lua"] if load.requests else []
        return Command((*words, load.url))

    def cpus(self, threads: int, cpus: int) -> int:
        """One per thread."""
        return min(cpus, threads)

    def other_load(self, output: bytes, connections: int | None, duration_s: float | None) -> Iterator[str]:
        """Differences by rounding: times to whole seconds, connections down to a multiple of the threads."""
        if ran := re.search(_LOAD, output.decode(errors="replace"), re.MULTILINE):
            seconds, threads, asked = int(ran[1]) * _UNIT_S[ran[2]], int(ran[3]), int(ran[4])
            if duration_s is not None and seconds != duration_s:
                yield f"wrk ran for {seconds} s instead of {duration_s:g}"
            used = asked // threads * threads if threads else 0
            if used != connections:
                yield f"wrk used {used} connections over {threads} threads instead of {connections}"

    def parse(self, data: bytes) -> Parsed:
        """Parse its text report (4.x): units depend on the size, and lines with only zeros are omitted.

        `ok` includes 3xx, which wrk does not count separately.
        """
        return read_report("wrk", lines_of(data, _TRANSFER), (_START, _HEADER), _read, _explain, others=_OTHERS)


def _read(cursor: Cursor, draft: Draft) -> None:
    figures, errors, latency = draft.figures, draft.errors, draft.latency

    cursor.take(_START + ".*")
    cursor.need(_HEADER, "the table of threads", r"[0-9]{1,18} threads? and [0-9]{1,18} connections?")
    row = cursor.need(rf"Latency {_TIME} {_TIME} {_TIME} (-?nan|{DECIMAL})%", "the Latency row")
    # Without any response, all columns are 0.00us; only the NaN percentage shows it.
    measured = not row[7].endswith("nan")
    if measured:
        latency.update(mean=_seconds(row[1], row[2]), stdev=_seconds(row[3], row[4]), max=_seconds(row[5], row[6]))
    cursor.need(r"Req/Sec \S+ \S+ \S+ \S+%", "the Req/Sec row")
    if cursor.take("Latency Distribution"):
        while percentile := cursor.take(rf"([0-9]{{1,3}}(?:\.[0-9]{{1,6}})?)% {_TIME}"):
            if measured and percentile[1] in PERCENTILES:
                latency["p" + percentile[1]] = _seconds(percentile[2], percentile[3])

    total = cursor.need(rf"{COUNT} requests in {_TIME}, {DECIMAL}([KMGTP]?)B read", "the line 'N requests in'")
    figures["requests"] = requests = int(total[1])
    figures["duration_s"] = _seconds(total[2], total[3])
    figures["bytes_read"] = round(float(total[4]) * 1024 ** " KMGTP".index(total[5] or " "))
    figures["bytes_exact"] = not total[5]

    socket = cursor.take(rf"Socket errors: connect {_SIGNED}, read {_SIGNED}, write {_SIGNED}, timeout {_SIGNED}")
    if socket:
        errors.update(zip(("connect", "read", "write", "timeout"), map(_unsigned, socket.groups()), strict=True))
    bad = cursor.take(rf"Non-2xx or 3xx responses: {_SIGNED}")
    if bad:
        errors["non2xx"] = _unsigned(bad[1])

    figures["rps"] = float(cursor.need(rf"Requests/sec: {DECIMAL}", "the Requests/sec line")[1])
    # Only now is it certain that optional lines are missing because there was nothing to count, not by truncation. One
    # that is not understood may be one of them.
    if not cursor.odd:
        if not socket:
            errors.update(connect=0, read=0, write=0, timeout=0)
        errors.setdefault("non2xx", 0)
    non2xx = errors.get("non2xx")
    if non2xx is not None and non2xx <= requests:
        figures["ok"] = requests - non2xx

    cursor.need(_TRANSFER, "the Transfer/sec line")
    if any(as_object(line) is not None for line in cursor.lines[cursor.at :]):
        figures["extra"] = {"script_json": True}


def _explain(lines: list[str]) -> Parsed:
    for line in lines:
        if found := re.match(r"unable to (?:connect to|resolve) \S+ (\S.{0,120})", line):
            return absent("wrk", found[1].lower())
    return unreadable("wrk", lines, {})


def _seconds(number: str, unit: str) -> float:
    return scaled(number, _EXPONENTS[unit]) if unit in _EXPONENTS else round(float(number) * _UNIT_S[unit], 9)


def _unsigned(number: str) -> int | None:
    """The counter; None if it overflowed, because it is printed as a signed number, negative from 2**31."""
    return None if number.startswith("-") else int(number)

"""An overload at rates too high for Python: one attack of vegeta per phase."""

from __future__ import annotations

import csv
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from bench.core.programs import guarded, memory_file
from bench.load.client import Client, Request
from bench.load.event import EventLoad, Loading
from bench.load.failures import TOOL_FAILED, Failed
from bench.load.task import command_of
from bench.plan.event import Event
from bench.records.event import Fate
from bench.tools import TOOLS
from bench.tools.reading import go_error_kind
from bench.tools.tool import Load

MOST_RATE = 1500.0
"""The highest rate, in requests/s, that the Python client sustains on its own CPU; above it, vegeta is used."""


def load_by_vegeta(asked: Load, event: Event, rates: Sequence[tuple[float, float]], t0_ns: int) -> list[Request]:
    """The load by one attack per phase, each started while the previous one drains."""
    attacks, begin_ns = [], t0_ns
    with ExitStack() as stack:
        for rate, seconds in rates:
            load = replace(asked, rate=round(rate), duration_s=seconds, timeout_s=event.timeout_s, leads_in=False)
            command = command_of(TOOLS["vegeta"], load)
            results = stack.enter_context(tempfile.TemporaryFile())
            time.sleep(max(0.0, (begin_ns - time.monotonic_ns()) / 1e9))
            words = guarded(seconds + event.timeout_s + 10, 5, *command.argv, most_bytes=load.most_bytes)
            stdin = memory_file(f"{command.stdin}\n".encode()) if command.stdin else None
            process = subprocess.Popen(words, stdin=stdin or subprocess.DEVNULL, stdout=results)
            attacks.append((process, results, begin_ns, round(rate)))
            begin_ns += round(seconds * 1e9)
        log = list[Request]()
        for process, results, at_ns, rate in attacks:
            if process.wait():
                raise Failed(TOOL_FAILED, f"vegeta ended with status {process.returncode}")
            results.seek(0)
            done = subprocess.run(["vegeta", "encode", "-to", "csv"], stdin=results, capture_output=True, check=True)
            log += attempts(done.stdout.decode(errors="replace").splitlines(), at_ns, rate, asked.exchange.redirects)
    return log


def attempts(lines: Iterable[str], begin_ns: int, rate: float, redirects: Sequence[int] = ()) -> Iterator[Request]:
    """The requests in the CSV of an attack that began at `begin_ns` of the monotonic clock.

    vegeta does not report the time of the first byte, so `first_ns` is 0.
    """
    shift_ns = time.monotonic_ns() - time.time_ns()
    for row in csv.reader(lines):
        sent_ns, code = int(row[0]) + shift_ns, int(row[1])
        due_ns = begin_ns + round(int(row[8]) * 1e9 / rate)
        fate = Fate.ANSWERED if code in redirects else _fate_of(code, row[5])
        yield Request(min(due_ns, sent_ns), "", sent_ns, sent_ns, 0, sent_ns + int(row[2]), fate=fate, status=code)


def _fate_of(code: int, error: str) -> Fate:
    """The fate of a request by its status or, without one, the error message of Go's client."""
    if code:
        return Fate.STATUS_503 if code == 503 else Fate.ANSWERED if code // 100 == 2 else Fate.OTHER_STATUS
    if go_error_kind(error) == "timeout":
        return Fate.TIMED_OUT
    if "unexpected EOF" in error or "malformed" in error:
        return Fate.CUT_SHORT
    return Fate.REFUSED if go_error_kind(error) == "connect" else Fate.RESET


def _by_vegeta(loading: Loading, client: Client) -> Mapping[str, Any] | None:
    if max(rate for rate, _ in loading.rates) <= MOST_RATE:
        return None
    client.log += load_by_vegeta(loading.load, loading.event, loading.rates, loading.t0_ns)
    return {"by": "vegeta"}


LOAD = EventLoad(generate=_by_vegeta)

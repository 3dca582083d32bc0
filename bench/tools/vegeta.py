"""vegeta: open loop, at a rate for a time."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from bench.core.formats import plain
from bench.tools.load import Asked, Command, Load
from bench.tools.tool import OUTPUT, CannotError, Tool, found, printed, temporary, whole

RESULTS, REPORT, LAG, LATENCIES = "results.bin", "output.json", "lag.json", "latencies.json"
SPARE_FILES = 256
"""Files for everything but connections."""


class Vegeta(Tool):
    """Its binary results are saved; reports are made from them after the load, because decoding is slow."""

    name = "vegeta"
    duration_digit_s = 0.0
    latency_digit_s = 0.0
    output = REPORT
    results = RESULTS
    more_files = (LAG, LATENCIES)
    limits_rate = True
    mixes_targets = True
    merges_reports = True

    def refusal(self, asked: Asked) -> str | None:
        """It takes rates only."""
        return None if asked.open_loop else "vegeta is open loop: it takes rates (r500, knee:p99=50ms)"

    def version(self) -> str:
        """The version it was built with."""
        return found(r"^Version: v?(.*)", printed("vegeta", "-version"))

    def command(self, load: Load) -> Command:
        """Its targets come from its standard input."""
        rate, request = whole("rate", load.rate), load.request
        if load.duration_s is None or load.count is not None:
            raise CannotError("stop at a count: a rate and a duration only")
        most, timeout = str(workers(load)), f"{plain(load.timeout_s)}s"
        words = ["vegeta", "attack", "-rate", rate, "-duration", f"{plain(load.duration_s)}s", "-timeout", timeout]
        words += ["-max-workers", most, "-connections", most, "-max-connections", most]
        words += ["-redirects=-1", "-prometheus-addr=", *([] if load.keepalive else ["-keepalive=false"])]
        if request.requests:
            origin = load.url.removeprefix("http://").partition("/")[0]
            targets = Path(request.requests, "targets.txt").read_text()
            here = re.sub(r"^([A-Z]* http://)ORIGIN/", lambda line: f"{line[1]}{origin}/", targets, flags=re.MULTILINE)
            return Command(tuple(words), here.rstrip("\n"))
        if request.body_file:
            words += ["-header", "Content-Type: application/json", "-body", request.body_file]
        return Command(tuple(words), f"{request.method} {load.url}")

    def save(self, load: Load, folder: Path) -> bool:
        """Both reports, lag.json and latencies.json; if one fails, the others are still made."""
        results = temporary(folder, RESULTS)
        with temporary(folder, OUTPUT).open("ab") as said:
            with temporary(folder, REPORT).open("wb") as report:
                done = [_reported("json", [results], stdout=report, stderr=said)]
            done.append(_reported("text", [results], stdout=said, stderr=said))
        try:
            done.append(_save_schedule(load, folder))
        except (OSError, ValueError) as error:
            print(f"measure: the results of vegeta: {error}", file=sys.stderr)
            return False
        return all(done)

    def merge(self, parts: Sequence[Path], folder: Path) -> bool:
        """Percentiles come from vegeta; latencies.json has every latency, so that the sum is exact."""
        from bench.tools.send_lag import merge_latencies

        with temporary(folder, REPORT).open("wb") as report:
            if not _reported("json", [part / RESULTS for part in parts], stdout=report, stderr=None):
                return False
        try:
            merge_latencies([part / LATENCIES for part in parts], temporary(folder, LATENCIES))
        except ValueError as error:
            print(f"measure: {error}", file=sys.stderr)
            return False
        return True


def workers(load: Load) -> int:
    """As many workers as requests can be open before they time out, or as files can be open.

    With fewer, a stall of the server would delay requests and hide itself. If the limit of files makes vegeta fall
    behind, its report shows it.
    """
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    limits = [int(load.rate or 0) * (int(load.timeout_s) + 1)]
    limits += [] if files == resource.RLIM_INFINITY else [files - SPARE_FILES]
    return min(*limits, limits[0] if load.most_workers is None else load.most_workers)


def _reported(kind: str, results: Sequence[Path], *, stdout: IO[bytes], stderr: IO[bytes] | None) -> bool:
    words = ["vegeta", "report", f"-type={kind}", *map(str, results)]
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

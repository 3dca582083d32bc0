"""What making a page costs."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.analysis.cells.latency import merged_latencies
from bench.core.errors import UserError
from bench.render.page.document import html
from bench.render.page.windows import WindowDetails, window_details_of
from bench.render.report import report_content
from bench.run.reader import read_run, read_service
from bench.validity.run_records import reviewed, service_names

PAGE_MEASUREMENTS = 5_000


def page_cost(argv: Sequence[str]) -> int:
    """`page FOLDER`: write a synthetic run and its page there; print `page=0,NS`, what the page alone takes."""
    if len(argv) != 1:
        raise UserError("page takes a folder; see scripts/harness-cost.sh")
    folder = argv[0]
    maker = [sys.executable, "tests/support/make_run.py", str(PAGE_MEASUREMENTS), folder]
    subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)
    source = read_run(folder)
    services = {name: read_service(folder, name) for name in service_names(source)}
    windows: list[WindowDetails] = []
    records = reviewed(source, services, lambda raw: windows.append(window_details_of(raw)))
    latencies = merged_latencies(folder, records)
    begin = time.monotonic_ns()
    words = report_content(source, services, records, (), latencies)
    page = html(source, services, records, windows=windows, latencies=latencies, words=words)
    print(f"page=0,{time.monotonic_ns() - begin}")
    (Path(folder) / "index.html").write_text(page, encoding="utf-8")
    return 0

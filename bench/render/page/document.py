"""index.html as one file: the report's text and tables as HTML, the data, the style, the scripts and the library.

The page is self-contained. Its Content-Security-Policy allows its own scripts by hash and no requests, so text from a
run can neither run as a script nor send anything. Without JavaScript it still shows the conclusions and all tables.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bench.analysis.cells.latency import LatenciesByCell
from bench.analysis.profiles.sampled import Profile
from bench.records.record import Record
from bench.render.page.data import page_data, pairs_data, sources_data
from bench.render.page.events import event_parts, heat_map
from bench.render.page.rankings import rankings_of
from bench.render.page.windows import WindowDetails, compressed, parts
from bench.render.report import Report
from bench.render.text import NOTES, page_template
from bench.run.reader import Run, ServiceFacts
from bench.words.conclusions import RankingText
from bench.words.units import in_units

HERE = Path(__file__).parent
LIBRARIES = ("d3.min.js", "plot.umd.min.js")
"""Unchanged files of their packages; vendor/README.md has the versions."""
FLAMES = "d3-flamegraph.umd.min.js"
"""Likewise unchanged; only for pages with flame graphs."""
MOST_BYTES = 2_950_000
"""Target size of the page: raw output is cut to stay below it, as far as the rest of the page allows."""
DETAILS = "<!-- details -->"
"""Placeholder for the parts, whose size depends on how much room the rest of the page leaves."""


def html(
    source: Run,
    services: Mapping[str, ServiceFacts],
    records: Sequence[Record],
    *,
    windows: Sequence[WindowDetails],
    latencies: LatenciesByCell,
    report: Report,
    rankings: Iterable[RankingText] = (),
    profiles: Iterable[Profile] = (),
) -> str:
    """The page of a run. `windows`: in the order of the records; `profiles`: shown as flame graphs.

    With `rankings`, those of its tables in turns, the page begins with them.
    """
    tables = [text for text in rankings if text.ranking.rows]
    data = page_data(source, services, records, windows, latencies=latencies, rankings=tables, profiles=profiles)
    flames = "flames" in data
    sources = sources_data(source)
    libraries = [*LIBRARIES, *([FLAMES] if flames else [])]
    scripts = [*((HERE / "vendor" / name).read_text("utf-8") for name in libraries), in_units(app(), report.drawn)]
    events = event_parts(report.events) if report.events else []
    styles = ["style.css", *(["rankings.css"] if tables else []), *(["events.css"] if events else [])]
    bare = page_template(HERE, "index.html.jinja").render(
        report=report,
        why_note=NOTES["why"],
        answers=rankings_of(tables),
        flames=flames,
        event_parts=events,
        heat=heat_map(report.events) if report.events else {},
        run=data["name"],
        data=json_block(data),
        pairs=_packed(pairs_data(tables)) if tables else "",
        sources=_packed(sources) if sources else "",
        style=Markup("".join((HERE / name).read_text("utf-8") for name in styles)),  # the project's own files
        scripts=[Markup(script) for script in scripts],
        policy=policy(scripts),
        details=Markup(DETAILS),
    )
    bare = in_units(bare, report.unit)
    made = parts(records, windows, MOST_BYTES - len(bare.encode()))
    details = "".join(f'<script type="text/plain" class="part">{part}</script>\n' for part in made)
    return bare.replace(DETAILS, details, 1)


def _packed(value: Any) -> str:
    return compressed(json.dumps(value, separators=(",", ":")))


def app() -> str:
    """The page's own scripts as one, in order: later files use what earlier ones declare."""
    files = sorted((HERE / "app").glob("*.js"))
    return "\n".join(['"use strict";', "(() => {", *(file.read_text("utf-8") for file in files), "})();", ""])


def policy(scripts: Sequence[str]) -> str:
    """A Content-Security-Policy that allows these scripts to run and nothing else to run or load."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:;"
        " base-uri 'none'; form-action 'none'"
    )


def json_block(value: Any) -> Markup:
    """JSON that cannot end its script element, whatever it contains."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)  # no HTML character is left in it

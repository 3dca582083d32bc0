"""Verbs on measured runs: reports, the site of published runs, exports, and the profile of a worker."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from bench.analysis.cells.latency import merged_latencies
from bench.analysis.findings import findings_of
from bench.analysis.profiles.sampled import profiles_of
from bench.analysis.profiles.stacks import package_shares, worker_cpu_shares
from bench.analysis.profiles.why import explanations
from bench.core.arguments import Parser
from bench.core.errors import UserError, unknown
from bench.core.files import as_object, objects_in, read_bytes, write_file
from bench.export import columns, event_columns, gobench
from bench.export.judged_run import find_judged, judge_run
from bench.matrix.load import load_matrix
from bench.records.file import read_records
from bench.records.record import Record
from bench.render.finder import Trait, finder_data, traits
from bench.render.page.document import html
from bench.render.page.windows import WindowDetails, window_details_of
from bench.render.report import Report
from bench.render.site import ANSWERS, Answer, PublishedRun, answers_of, front_page
from bench.render.site_pages import (
    FRAMEWORKS,
    SERVERS,
    Happened,
    Placing,
    addresses,
    framework_page,
    happenings,
    placings,
    server_page,
)
from bench.render.terminal import WIDTH, terminal
from bench.run.facts import read_run_facts
from bench.run.folder import PUBLISHED, find_run, published_runs
from bench.run.published import PACKED, SUMS, sums_of
from bench.run.reader import Run, read_run
from bench.words.conclusions import RankingText
from bench.words.setup import machine_words

VERDICTS = "verdicts.jsonl"
DATA: Mapping[str, str] = {"records.jsonl": "parquet", "events.jsonl": "events-parquet"}
"""Where a run's measurements and its events are, and the format in which the site also has them."""


def build_verb(argv: Sequence[str]) -> None:
    """`build RUN`: write records.jsonl, report.md and index.html; UserError if RUN is not a results folder.

    Unless `--quiet`, a summary goes to standard error.
    """
    parser = Parser("report.sh")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--colors", action="store_true")
    # A run's name may start with a dash.
    wanted, names = parser.parse_known_args(argv)
    if len(names) != 1:
        raise UserError("usage: python3 -m bench build [--quiet] RUN")
    _, report, rankings = _build(find_run(names[0]))
    if not wanted.quiet:
        print(terminal(report, rankings, wanted.width, wanted.colors), end="", file=sys.stderr)


def _build(folder: Path) -> tuple[Run, Report, Sequence[RankingText]]:
    """Write the files that are made from a run's raw files."""
    windows: list[WindowDetails] = []
    with _writing_to(folder):
        judged = judge_run(folder, lambda raw: windows.append(window_details_of(raw)))
        source, services, records, rankings, events = judged
        latencies = merged_latencies(source.path, [record for record in records if record.mode in ("solo", "rate")])
        profiles = [profiles_of(source, services, text.ranking) for text in rankings]
        why = [explanations(text.ranking, own, records) for text, own in zip(rankings, profiles, strict=True)]
        findings = findings_of(records, source.facts, services)
        report = Report(source, services, findings, rankings, latencies, profiles=profiles, why=why, events=events)
        write_file(folder / "report.md", report.markdown())
        made = html(
            source,
            services,
            records,
            windows=windows,
            latencies=latencies,
            report=report,
            rankings=rankings,
            profiles=[one for own in profiles for one in own],
        )
        write_file(folder / "index.html", made)
    return source, report, rankings


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """What is written inside goes to this folder: UserError if it cannot."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {error.strerror}; free some space or fix its owner") from error


def publish_verb(argv: Sequence[str]) -> None:
    """`publish [NAME...]`: from the archives of these published runs, or of all, make what stands beside them."""
    runs = published_runs()
    for name in argv:
        if name not in runs:
            raise unknown("published run", name, runs)
    presets = {name: preset.title for name, preset in load_matrix().presets.items()}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(partial(_publish, presets), argv or runs))


def _publish(presets: Mapping[str, str], name: str) -> None:
    published = PUBLISHED / name
    folder = find_run(str(published))
    source, report, rankings = _build(folder)
    with _writing_to(published):
        for made in ("report.md", "index.html", VERDICTS):
            shutil.copyfile(folder / made, published / made)
        write_file(published / SUMS, sums_of(folder))
        said = answers_of(source.facts, report, rankings, presets)
        write_file(published / ANSWERS, json.dumps(said, ensure_ascii=False, indent=1) + "\n")


def site_verb(argv: Sequence[str]) -> None:
    """`site FOLDER`: write a front page, and for each published run its page, its data and its raw files."""
    parser = Parser("site.sh")
    parser.add_argument("folder", type=Path)
    site: Path = parser.parse_args(argv).folder
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        list(pool.map(partial(_put_data, site), published_runs()))
    write_pages(site)


def _put_data(site: Path, name: str) -> None:
    """Put a published run's measurements and events into the site, as JSON Lines and as Parquet."""
    folder, place = find_run(str(PUBLISHED / name)), site / name
    if read_bytes(f"{folder}/{SUMS}") != sums_of(folder).encode():
        judge_run(folder)
    source, records = read_run(str(folder)), read_records(folder)
    with _writing_to(place):
        place.mkdir(parents=True, exist_ok=True)
        for file, form in DATA.items():
            if (folder / file).is_file() and (folder / file).stat().st_size:
                shutil.copyfile(folder / file, place / file)
                write_file((place / file).with_suffix(".parquet"), FORMATS[form](name, source, records, form))


def write_pages(site: Path) -> None:
    """All pages of the site, from what is committed with the published runs. Self-tests place no server."""
    names, matrix = published_runs(), load_matrix()
    runs = [_put(site, name) for name in names]
    placed, happened, shown = list[Placing](), list[Happened](), list[Trait]()
    for name in names:
        if (PUBLISHED / name / "selftest.md").exists():
            continue
        facts = read_run_facts(PUBLISHED / name)
        lines = objects_in(f"{PUBLISHED / name}/{VERDICTS}")
        placed += placings(name, facts, lines)
        happened += happenings(name, facts, lines)
        shown += traits(name, facts, lines)
    pages = addresses(matrix)
    for folder in pages:
        (site / folder).mkdir(exist_ok=True)
    for name, server in matrix.servers.items():
        start = (Path("services") / SERVERS / name / "start").read_text(encoding="utf-8")
        write_file(site / SERVERS / f"{name}.html", server_page(server, start, placed, happened))
    for name in pages[FRAMEWORKS]:
        write_file(site / FRAMEWORKS / f"{name}.html", framework_page(matrix.frameworks[name], placed))
    write_file(site / "index.html", front_page(runs, pages, finder_data(matrix, placed, shown)))


def _put(site: Path, name: str) -> PublishedRun:
    """Copy a published run into the site."""
    published, place = PUBLISHED / name, site / name
    if (said := as_object(read_bytes(f"{published}/{ANSWERS}") or b"")) is None:
        raise UserError(f"{published} has no {ANSWERS}: make it with scripts/publish.sh --rebuild {name}")
    with _writing_to(place):
        place.mkdir(parents=True, exist_ok=True)
        for file in (PACKED, VERDICTS, "run.json"):
            shutil.copyfile(published / file, place / file)
        data = [place / file for lines in DATA for file in (lines.replace("jsonl", "parquet"), lines)]
        files = [PACKED, *(file.name for file in data if file.is_file()), VERDICTS]
        links = ", ".join(f'<a href="{file}" download>{file}</a>' for file in files)
        line = f'<p>Data of this run: {links}. <a href="../index.html">All runs</a></p>\n'
        page, end, tail = (published / "index.html").read_bytes().rpartition(b"</footer>")
        write_file(place / "index.html", b"".join((page, line.encode(), end, tail)))
    facts, checked = read_run_facts(published), read_bytes(f"{published}/selftest.md") or b""
    return PublishedRun(
        name=name,
        title=said["title"],
        started=facts.run,
        machine=machine_words(facts),
        answers=tuple(Answer(**one) for one in said["answers"]),
        checked=checked.decode(errors="replace"),
        files=tuple(files),
    )


Exporter = Callable[[str, Run, Iterable[Record], str], bytes]
"""(name of the run, the run, its records, the format) -> the exported file."""

FORMATS: Mapping[str, Exporter] = {
    **dict.fromkeys(("csv", "parquet"), columns.write),
    "gobench": gobench.write,
    **dict.fromkeys(("events-csv", "events-parquet"), event_columns.write),
}
BINARY = frozenset({"parquet", "events-parquet"})


def export_verb(argv: Sequence[str]) -> None:
    """`export FORMAT RUN`: write the records in that format to standard output."""
    if len(argv) != 2:
        formats = ", ".join(FORMATS)
        raise UserError(f"export takes a format ({formats}) and a run, such as: scripts/export.sh csv RUN > FILE")
    form, name = argv
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    if form in BINARY and sys.stdout.isatty():
        raise UserError(f"{form} is binary: write it to a file, such as: scripts/export.sh {form} RUN > FILE")
    folder = find_judged(name)
    source = read_run(str(folder))
    records = read_records(folder)
    sys.stdout.buffer.write(FORMATS[form](folder.resolve().name, source, records, form))
    sys.stdout.buffer.flush()


def profile_verb(argv: Sequence[str]) -> None:
    """`profile FILE PATH`: print where the CPU time went under load of PATH.

    FILE.before and FILE.after have the worker's CPU times, FILE.raw the sampled stacks.
    """
    if len(argv) != 2:
        raise UserError("profile takes a file without its extension and a path; see scripts/profile.sh --help")
    before, after, stacks = (Path(f"{argv[0]}.{name}").read_text() for name in ("before", "after", "raw"))
    user, kernel = worker_cpu_shares(before, after, os.sysconf("SC_CLK_TCK"))
    print(f"{argv[1]}: CPU {100 * user:.0f} % in user space, {100 * kernel:.0f} % in the kernel")
    for name, share in package_shares(stacks).items():
        print(f"{100 * share:5.1f} % {name}")

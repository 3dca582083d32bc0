"""Published runs: rebuilt from their raw files they have the same records and verdicts, and their self-tests hold."""

from __future__ import annotations

import json
import re
import shutil
import zlib
from base64 import b64decode
from concurrent.futures import ProcessPoolExecutor
from html.parser import HTMLParser
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pytest
from places import ROOT
from plain_words import found_in, signs_in
from printed_means import means_of_a_part

from bench.__main__ import main
from bench.export.judged_run import find_judged, judge_run
from bench.records.file import read_records
from bench.render.site import ANSWERS
from bench.run.facts import read_run_facts
from bench.run.published import SUMS, sums_of
from bench.stats.table_verdicts import FASTER, SLOWER
from bench.validity.run_rules import TIMER_SLACK, most_possible
from calibration.__main__ import judge_verb
from calibration.tables import tables
from calibration.truths import truths

# Judging all runs takes a minute, and several beside the other stages.
pytestmark = pytest.mark.timeout(1200)

PUBLISHED = ROOT / "results" / "published"
RUNS = sorted(path.parent.name for path in PUBLISHED.glob("*/raw.tar.xz"))
IN_TURNS = [name for name in RUNS if json.loads((PUBLISHED / name / "run.json").read_text()).get("tables_in_turns")]
SELFTESTS = [name for name in RUNS if name.startswith("selftest-tables")]
TRUTHS = [name for name in RUNS if name.startswith("selftest-truths")]
BESIDE_HOG = [name for name in SELFTESTS if "-hog-" in name]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean clone of the project, in which nothing is unpacked."""
    clone = tmp_path_factory.mktemp("clone")
    for path in ROOT.iterdir():
        if path.name != "results":
            (clone / path.name).symlink_to(path)
    (clone / "results").mkdir()
    (clone / "results/published").symlink_to(PUBLISHED)
    return clone


@pytest.fixture(scope="module")
def rebuilt(clone: Path) -> dict[str, Path]:
    """The folders of the published runs by name, unpacked and judged again."""
    with pytest.MonkeyPatch.context() as patch, ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        patch.chdir(clone)
        return {name: clone / folder for name, folder in zip(RUNS, pool.map(find_judged, RUNS), strict=True)}


@pytest.fixture(scope="module")
def site(clone: Path, rebuilt: dict[str, Path]) -> Path:
    """The site as scripts/site.sh makes it, of runs that are judged already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(clone)
        assert main(["site", "results/site"]) == 0
    return clone / "results/site"


def verdicts(folder: Path) -> list[dict[str, Any]]:
    """The figures of each line of verdicts.jsonl, without texts: those of a published run may be in older words."""
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    texts = ("reason", "flags", "note", "words")
    return [{key: value for key, value in line.items() if key not in texts} for line in lines]


def figures(value: Any) -> Any:
    """The value with a tolerance for each of its numbers that is not whole."""
    if isinstance(value, dict):
        return {key: figures(part) for key, part in value.items()}
    return pytest.approx(value) if isinstance(value, float | list) else value  # an interval is a list


def test_published_pages_are_plain_and_have_one_sign_for_a_change(site: Path) -> None:
    """Except for titles and causes of failures, which stay as they were when the run was made."""
    for name in RUNS:
        page = Page((PUBLISHED / name / "index.html").read_text(encoding="utf-8"))
        assert page.text and not found_in(page.text.replace(page.title, "").replace("its last words:", "")), name
        assert not [text for columns, rows in page.tables for text in signs_in(columns, rows)], name
    front = Page((site / "index.html").read_text(encoding="utf-8"))
    assert front.text and not found_in(front.text)


def test_the_data_in_the_site_are_the_records_of_each_run(site: Path, rebuilt: dict[str, Path]) -> None:
    for name in RUNS:
        files = set[Path]()
        for lines in ("records.jsonl", "events.jsonl"):
            records = [json.loads(line) for line in text_in(rebuilt[name] / lines).split("\n") if line]
            if records:
                files |= {site / name / lines, (site / name / lines).with_suffix(".parquet")}
                assert (site / name / lines).read_text() == text_in(rebuilt[name] / lines)
                assert rows_of((site / name / lines).with_suffix(".parquet")) == [one["id"] for one in records], name
        assert files == {*(site / name).glob("records.*"), *(site / name).glob("events.*")} and files


def text_in(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def rows_of(parquet: Path) -> list[str]:
    with duckdb.connect() as database:
        return [row[0] for row in database.read_parquet(str(parquet)).project("id").fetchall()]


def test_no_path_of_the_machine_is_published() -> None:
    paths = re.compile(r"(?<![\w.])/(?:tmp|root|home)/[^\s\"'<]*")
    assert paths.findall('"/home/me/shop", --app /tmp/shop') == ["/home/me/shop", "/tmp/shop"]
    files = product(RUNS, ("run.json", "report.md", "index.html", ANSWERS))
    texts = {file: PUBLISHED.joinpath(*file).read_text(encoding="utf-8") for file in files}
    assert not {file: found for file, text in texts.items() if (found := paths.findall(text))}


class Page(HTMLParser):
    """What a reader sees on a page: its text, including sentences on pairs, and the head and rows of each table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.title, self.pairs, self.within = "", "", "", ""
        self.tables: list[tuple[list[str], list[list[str]]]] = []
        self.feed(html)
        if self.pairs:
            self.text += zlib.decompress(b64decode(self.pairs)).decode()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.within = "pairs" if ("id", "pairs") in attrs else tag
        if tag == "table":
            self.tables.append(([], []))
        elif tag == "tr" and self.tables:
            self.tables[-1][1].append([])

    def handle_data(self, data: str) -> None:
        if self.within == "pairs":
            self.pairs += data
            self.within = ""
        elif self.within == "h1":
            self.title += data
        elif self.within not in ("script", "style"):
            self.text += data
        if self.within == "th" and self.tables:
            self.tables[-1][0].append(data)
        elif self.within == "td" and self.tables:
            self.tables[-1][1][-1].append(data)


def test_every_published_run_is_rebuilt() -> None:
    assert sorted(path.name for path in PUBLISHED.iterdir() if path.is_dir()) == RUNS
    assert len(IN_TURNS) >= 4 and {*SELFTESTS} <= {*IN_TURNS}


def test_every_published_run_has_its_page_which_is_in_the_site_with_its_raw_files(site: Path) -> None:
    front = (site / "index.html").read_text()
    for name in RUNS:
        page = (PUBLISHED / name / "index.html").read_text()
        facts = json.loads((PUBLISHED / name / "run.json").read_text())
        assert page.rstrip().endswith("</html>") and facts["run"] in page, name
        assert (site / name / "raw.tar.xz").read_bytes() == (PUBLISHED / name / "raw.tar.xz").read_bytes()
        # Only the links to its data are added.
        in_site = (site / name / "index.html").read_text()
        data = re.findall(r'<p>Data of this run: <a href="raw.tar.xz" download>.*</p>\n', in_site)
        assert len(data) == 1 and in_site.replace(data[0], "") == page, name
        for file in re.findall(r'href="([\w.]+)"', data[0]):
            assert (site / name / file).stat().st_size and f'href="{name}/{file}"' in front, (name, file)
        assert f'href="{name}/index.html"' in front, name
    assert sorted(path.name for path in site.iterdir()) == sorted([*RUNS, "frameworks", "index.html", "servers"])
    # The question with the most services comes first, with its newest answer on top; self-tests come last.
    questions = re.findall(r"<h2>(.*?)</h2>", front)
    assert questions[:4] == ["Find a server", "By framework", "By server", "Which server and framework?"]
    assert questions[-2].startswith("Self-tests") and questions[-1] == "Data"
    order = re.findall(r'href="([\w-]+)/index.html"', front)
    assert order[0] == "all-py313-json" and order.index("quick") < min(map(order.index, [*SELFTESTS, *TRUTHS]))


@pytest.mark.parametrize("name", RUNS)
def test_records_and_verdicts_are_what_the_raw_files_say(name: str, rebuilt: dict[str, Path]) -> None:
    assert sums_of(rebuilt[name]) == (PUBLISHED / name / SUMS).read_text()
    made, published = verdicts(rebuilt[name]), verdicts(PUBLISHED / name)
    # Another CPU may round otherwise; a comparison of so many numbers within a tolerance takes long.
    assert made and (made == published or made == [figures(line) for line in published])


@pytest.mark.parametrize(("name", "file"), [("threads-keepalive", "tool.json"), ("one-sync-worker", "requests.tsv.gz")])
def test_a_raw_file_that_was_edited_changes_the_records(
    name: str, file: str, rebuilt: dict[str, Path], tmp_path: Path
) -> None:
    copy = tmp_path / name
    shutil.copytree(rebuilt[name], copy)
    next(copy.glob(f"raw/r01/*/*/*/w1/*/{file}")).write_bytes(b"{}")
    judge_run(copy)
    assert sums_of(copy) != (PUBLISHED / name / SUMS).read_text()


def test_published_self_tests_are_judged_as_they_lie_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # They are committed without the files that are made from the raw ones.
    monkeypatch.chdir(tmp_path)
    assert judge_verb(["tables", str(PUBLISHED / SELFTESTS[0])]) == 0
    printed = capsys.readouterr().out
    (wall,) = re.findall(rf"^{SELFTESTS[0]}: (\d+) s of wall time", printed, re.M)
    called = next(line for line in printed.splitlines() if line.startswith("| 5 % |")).split("|")
    assert int(wall) > 30 and int(called[5]) > 0


def test_the_machine_of_each_row_is_that_of_its_runs() -> None:
    rows = [line.strip("|").split("|") for line in (PUBLISHED / "README.md").read_text().splitlines() if "](" in line]
    rows = [row for row in rows if len(row) > 2]
    for name in RUNS:
        host = json.loads((PUBLISHED / name / "run.json").read_text())["host"]
        words = f"{host['cpu'].replace('(R)', '').replace(' Processor', '')}, {host['cpus']} cores"
        family = re.sub(r"-\d+$", "-1", name)
        (row,) = [row for row in rows if re.search(rf"(?<![\w-])({name}|{family})(?![\w-]*[a-z])", row[0])] or [None]
        assert row and words in row[-1], f"{name} was measured on {words}"


def test_no_verdict_says_the_opposite_of_requests_per_second(rebuilt: dict[str, Path]) -> None:
    called = 0
    for name in IN_TURNS:
        lines = [json.loads(line) for line in (rebuilt[name] / "verdicts.jsonl").read_text().splitlines()]
        table = ("scenario", "tool", "level")
        rows = {(*(one[key] for key in table), one["service"]): one for one in lines if one["kind"] == "service"}
        for one in lines:
            if one["kind"] != "contrast" or one["verdict"] not in (FASTER, SLOWER):
                continue
            called += 1
            place = [one[key] for key in table]
            a, b = (rows[*place, one[side]]["goodput"] for side in ("a", "b"))
            if a is None or b is None:
                continue
            faster, slower = (b, a) if one["verdict"] == FASTER else (a, b)
            opposite = slower["mean"] > 1.05 * faster["mean"] and slower["low"] > faster["high"]
            assert not opposite, f"{name}: {one['a']} and {one['b']}"
    assert called > 10_000


def test_no_printed_mean_leaves_a_window_out(rebuilt: dict[str, Path]) -> None:
    assert not {name: found for name in RUNS if (found := [*means_of_a_part(rebuilt[name])])}


def test_no_wait_is_answered_faster_than_it_lasts(rebuilt: dict[str, Path]) -> None:
    waiting = 0
    for name in RUNS:
        facts = read_run_facts(PUBLISHED / name)
        for record in read_records(rebuilt[name]):
            most = most_possible(record, facts)
            if most is None or not record.goodput:
                continue
            waiting += 1
            assert not record.valid or record.goodput <= TIMER_SLACK * most[0], f"{name} {record.id}: {most[1]}"
    assert waiting > 200


@pytest.mark.parametrize("names", [[*{*SELFTESTS} - {*BESIDE_HOG}], BESIDE_HOG], ids=["quiet", "beside a hog"])
def test_differences_of_known_size_are_found_and_none_is_false(names: list[str], rebuilt: dict[str, Path]) -> None:
    text, holds = tables([str(rebuilt[name]) for name in names])
    assert holds, text


def test_tables_whose_answers_are_known_show_nothing_else(rebuilt: dict[str, Path]) -> None:
    text, holds = truths([str(rebuilt[name]) for name in TRUTHS])
    assert holds, text
    assert {"-hog-" in name for name in TRUTHS} == {True, False}
    planned = [json.loads((PUBLISHED / name / "run.json").read_text())["tables_in_turns"] for name in TRUTHS]
    assert sum(map(len, planned)) >= 60

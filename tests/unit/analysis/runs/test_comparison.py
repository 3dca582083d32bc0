"""A comparison of made-up runs, from raw files to the written files."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from make_run import entry, output_of, write_measurement, write_run

from bench.cli.compare import compare_verb
from bench.cli.report import build_verb
from bench.core.errors import UserError

FACTS: dict[str, Any] = {
    "knobs": {"WORKERS": "1", "SEED": "1"},
    "harness": {"version": "v1", "hash": "0" * 64, "images": {"bench/loadgen": "a"}},
    "host": {"cpu": "a CPU", "cpus": 2, "kernel": "6.1.0"},
}
RATES = {"aiohttp": 2000, "tornado": 1500, "null": 50_000}
HOSTILE = "<script>alert(1)<b>|`[x](http:x)"
Change = Callable[[Path, list[dict[str, Any]]], None]


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("bench.cli.compare.RESULTS", tmp_path / "results")
    monkeypatch.setattr("bench.stats.change_points.SERIES", 2000)
    return tmp_path / "results"


def make(
    folder: Path, factors: Mapping[str, float] = {}, *, rounds: int = 8, change: Change | None = None, **facts: Any
) -> str:
    """A run of two services and the null server; `factors` multiply their speeds."""
    rng, lines = random.Random(folder.name), []
    for number in range(1, rounds + 1):
        asked = {"round": number, "timeout_s": 10.0, "warmup_s": 1.0}
        for stack in ("aiohttp", "tornado"):
            lines.append(entry(stack, number=len(lines) + 1, **asked))
            lines.append(entry(stack, "json", "vegeta", "r200", number=len(lines) + 1, **asked))
        null = {"service": "null", "server": "null", "framework": "null", "mode": "null"}
        lines.append(entry(number=len(lines) + 1, **asked, **null, dir=f"raw/r{number:02}/null/json/wrk-c64"))
    write_run(folder, lines, run=folder.name, **FACTS | facts)
    for line in lines:
        speed = factors.get(line["server"], 1.0) * math.exp(rng.gauss(0, 0.015))
        rate = line["rate"] or RATES[line["server"]] * speed
        write_measurement(folder, line, output_of(line, rate), cpu_s=1.0 / speed if line["rate"] else 1.0)
    if change:
        change(folder, lines)
    return str(folder)


def rows(results: Path, name: str = "comparison.jsonl") -> list[dict[str, Any]]:
    (found,) = results.glob("comparisons/*")
    return [json.loads(line) for line in (found / name).read_text().splitlines()]


def words(results: Path) -> dict[tuple[str, str, str], str]:
    return {(row["service"].partition("-")[0], row["tool"], row["figure"]): row["word"] for row in rows(results)}


def test_the_service_that_changed_differs_and_the_other_does_not(
    tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [make(tmp_path / "old"), make(tmp_path / "new", {"tornado": 1.15})]
    assert compare_verb(argv) == 0
    told = words(results)
    assert told["tornado", "wrk", "goodput"] == told["tornado", "vegeta", "goodput_per_core"] == "differs"
    assert "differs" not in {word for key, word in told.items() if key[0] == "aiohttp"}
    # Not compared, because the goodput of an open loop is its target rate.
    assert ("tornado", "vegeta", "goodput") not in told
    text = capsys.readouterr().out
    assert text == (results / "comparisons/old..new/comparison.md").read_text()
    assert text.startswith("# old and new\n")
    assert "- tornado-py313-debian, json wrk c64, goodput differs: +" in text
    assert "json wrk c64 | goodput | " in text  # the null server's
    assert "not measured at the same time" in text and not re.search(r"\| (faster|slower)\b", text)
    assert not list(results.glob("comparisons/*/history.jsonl"))


def test_raw_files_and_records_give_the_same(tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also for a rule of the whole run: noise in one window discards its round."""

    def disturb(folder: Path, lines: list[dict[str, Any]]) -> None:
        stolen = {"loadgen": {"cpuacct.usage": "2500000000"}, "proc_stat": "cpu 150 0 200 1000 0 0 0 90 0 0"}
        write_measurement(folder, lines[0], output_of(lines[0], 2000), tool={"after": stolen})

    argv = [make(tmp_path / "old", change=disturb, rounds=9), make(tmp_path / "new", rounds=9)]
    compare_verb(argv)
    raw = capsys.readouterr().out
    assert "1 of 9 rounds left out: host" in raw
    assert [build_verb([name]) for name in argv] == [0, 0]
    compare_verb(argv)
    assert capsys.readouterr().out == raw


def test_incompatible_runs_say_why_and_have_no_ratio(
    tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [make(tmp_path / "old"), make(tmp_path / "new", {"tornado": 2.0}, host=FACTS["host"] | {"kernel": "6.12"})]
    assert compare_verb(argv) == 1
    text = capsys.readouterr().out
    assert "- new is not comparable with old: host kernel." in text
    assert "incompatible: host kernel: 6.1.0 vs 6.12" in text
    assert "| " not in text
    assert {row["word"] for row in rows(results)} == {"not comparable: host kernel"}
    assert {row["ratio"] for row in rows(results)} == {None}


def test_a_run_and_itself_are_refused(tmp_path: Path) -> None:
    one, other = make(tmp_path / "one"), make(tmp_path / "other")
    (tmp_path / "link").symlink_to("one")
    shutil.copytree(one, tmp_path / "copy")
    for argv in ([one, one], [one, other, f"{one}/"], [one, str(tmp_path / "link")]):
        with pytest.raises(UserError, match="given twice"):
            compare_verb(argv)
    with pytest.raises(UserError, match="copy has the same measurements as one"):
        compare_verb([one, other, str(tmp_path / "copy")])


def test_a_run_without_records_is_invalid_everywhere(
    tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was planned but never begun; like other failed runs, it has the images that were inspected."""

    def never(folder: Path, lines: list[dict[str, Any]]) -> None:
        for path in (folder / "raw").glob("r*"):
            shutil.rmtree(path)

    def same_image(folder: Path, lines: list[dict[str, Any]]) -> None:
        for path in folder.glob("raw/r*/*/*/*/meta.json"):
            path.write_text(path.read_text().replace("cd" * 32, "ab" * 32))

    argv = [make(tmp_path / "old", change=same_image), make(tmp_path / "new", change=never)]
    assert compare_verb(argv) == 0
    assert {row["word"] for row in rows(results)} == {"invalid: not run"}
    assert {(row["ratio"], row["after"]["value"]) for row in rows(results)} == {(None, None)}
    assert "invalid: not run" in capsys.readouterr().out


def test_a_trend_has_its_change_a_picture_and_lines(
    tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [make(tmp_path / f"r{n}", {"tornado": 0.8 if n >= 5 else 1.0}) for n in range(9)]
    other = make(tmp_path / "r4b", {"tornado": 9.0}, containers="another way")
    assert compare_verb([*argv[:5], other, *argv[5:]]) == 1
    text = capsys.readouterr().out
    assert "# 10 runs, r0 to r8" in text
    assert "- tornado-py313-debian, json wrk c64, goodput: -" in text and "% from r5 on." in text
    found = rows(results, "history.jsonl")
    assert {(line["service"], line["word"]) for line in found} == {
        ("aiohttp-py313-debian", "no change shown"),
        ("tornado-py313-debian", "changed"),
    }
    assert {change["run"] for line in found for change in line["changes"]} == {"r5"}
    assert {tuple(line["runs"]) for line in found} == {tuple(f"r{n}" for n in range(9))}
    (page,) = results.glob("comparisons/*/index.html")
    assert page.parent.name == "r0..r8.10-runs"
    html = Seen.read(page)
    assert html.tags["svg"] == len(found) == html.labels
    assert len(page.read_bytes()) < 20_000 * len(found)
    # Comparing fewer runs does not touch the trend's folder.
    assert compare_verb([argv[0], argv[8]]) == 0
    assert [path.name for path in results.glob("comparisons/*/history.jsonl")] == ["history.jsonl"]


class Seen(HTMLParser):
    """A page's tags, references to other places, and number of pictures with a description."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.asks: list[str] = []
        self.labels = 0

    @classmethod
    def read(cls, page: Path) -> Seen:
        seen = cls()
        seen.feed(page.read_text())
        return seen

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        given = dict(attrs)
        self.asks += [name for name in given if name in ("src", "href", "srcset") or name.startswith("on")]
        self.labels += given.get("role") == "img" and bool(given.get("aria-label"))


def test_hostile_names_are_escaped(tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def rename(folder: Path, lines: list[dict[str, Any]]) -> None:
        build_verb([str(folder)])
        records = folder / "records.jsonl"
        turned = [json.loads(line) for line in records.read_text().splitlines()]
        for record in turned:
            if record["server"] == "aiohttp":
                record["service"] = "\u202e" + HOSTILE + "\n# no heading"
                record["scenario"] = "../../../etc"
        records.write_text("".join(json.dumps(record) + "\n" for record in turned))

    argv = [
        make(tmp_path / f"..{HOSTILE.replace('/', '')} \u202e{n}", change=rename, engine=HOSTILE + str(n))
        for n in range(2)
    ]
    argv += [make(tmp_path / f"{HOSTILE}{n}", change=rename, engine=HOSTILE + "0") for n in range(7)]
    assert compare_verb(argv) == 1
    text = capsys.readouterr().out
    (folder,) = results.glob("comparisons/*")
    assert folder.name.isascii() and not {*folder.name} & {*"<>|`[] ()"} and not folder.name.startswith(".")
    assert {path.name for path in results.iterdir()} == {"comparisons"}
    for page in (text, (folder / "index.html").read_text()):
        assert "\u202e" not in page and "&lt;script&gt;" in page and "<script" not in page
    assert not [line for line in text.splitlines() if line.startswith("# no")]
    for table in (lines for lines in text.split("\n\n") if lines.startswith("| ")):
        # Each row has as many cells as its table's head.
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1
    seen = Seen.read(folder / "index.html")
    assert not seen.asks and not {*seen.tags} & {"script", "b", "a", "img", "iframe"}
    assert seen.tags["svg"]


def test_two_folders_of_one_name_are_told_apart(tmp_path: Path, results: Path) -> None:
    one, other = make(tmp_path / "a/run", rounds=1), make(tmp_path / "b/run", {"tornado": 1.3}, rounds=1)
    compare_verb([one, other])
    assert {(row["one"], row["other"]) for row in rows(results)} == {(one, other)}


def test_what_cannot_be_written_is_a_user_error(tmp_path: Path, results: Path) -> None:
    results.write_text("a file")
    with pytest.raises(UserError, match="cannot write to"):
        compare_verb([make(tmp_path / "old", rounds=1), make(tmp_path / "new", rounds=1)])


def test_of_many_changes_the_first_are_listed_and_the_rest_counted(
    tmp_path: Path, results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.render.comparison.MOST", 1)
    compare_verb([make(tmp_path / "old"), make(tmp_path / "new", {"tornado": 1.3, "aiohttp": 0.7})])
    different = sum(row["word"] == "differs" for row in rows(results))
    text = capsys.readouterr().out
    assert different > 2 and text.count(" differs: ") == 1
    assert f"- {different - 1} more are in the tables below." in text

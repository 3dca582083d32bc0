"""`compare`: made-up runs, from raw files to what is printed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from captured import Capture, printed, refused
from make_run import entry, output_of, write_measurement, write_run

from bench.cli.compare import compare_verb
from bench.cli.report import build_verb
from bench.core.errors import UserError

HARNESS = {"version": "v1", "hash": "0" * 64, "images": {"bench/loadgen": "a"}}
HOST = {"cpu": "a CPU", "cpus": 2, "kernel": "6.1.0"}
FACTS: dict[str, Any] = {"knobs": {"WORKERS": "1", "SEED": "1"}, "harness": HARNESS, "host": HOST}
RATES = {"aiohttp": 2000, "tornado": 1500, "null": 50_000}
HOSTILE = "<script>alert(1)<b>|`[x](http:x)"
Change = Callable[[Path, list[dict[str, Any]]], None]


def make(
    folder: Path, factors: Mapping[str, float] = {}, *, rounds: int = 2, change: Change | None = None, **facts: Any
) -> str:
    """A run of two services and the null server; `factors` multiply their speeds."""
    lines: list[dict[str, Any]] = []
    for number in range(1, rounds + 1):
        asked = {"round": number, "timeout_s": 10.0, "warmup_s": 1.0}
        for stack in ("aiohttp", "tornado"):
            lines.append(entry(stack, number=len(lines) + 1, **asked))
            lines.append(entry(stack, "json", "vegeta", "r200", number=len(lines) + 1, **asked))
        null = {"service": "null", "server": "null", "framework": "null", "mode": "null"}
        lines.append(entry(number=len(lines) + 1, **asked, **null))
    write_run(folder, lines, run=folder.name, **FACTS | facts)
    for line in lines:
        speed = factors.get(line["server"], 1.0)
        rate = line["rate"] or RATES[line["server"]] * speed
        write_measurement(folder, line, output_of(line, rate), cpu_s=1.0 / speed if line["rate"] else 1.0)
    if change:
        change(folder, lines)
    return str(folder)


def test_two_runs_are_printed_side_by_side_without_a_verdict(tmp_path: Path, capsys: Capture) -> None:
    text = printed(capsys, "compare", make(tmp_path / "old"), make(tmp_path / "new", {"tornado": 1.2}))
    assert text.startswith("### Runs side by side\n\n| load | service | figure | old | new | against old |\n")
    assert "| json wrk, 64 connections | tornado-py313-debian | requests/s | 1,500 | 1,800 | +20.0 % |\n" in text
    assert "| json wrk, 64 connections | null | requests/s | 50,000 | 50,000 | +0.0 % |\n" in text
    # Requests/s of an open loop are its target rate.
    assert "target rate | tornado-py313-debian | CPU per request | " in text
    assert "target rate | tornado-py313-debian | requests/s | " not in text
    assert "\n\nNo verdict is given between separate runs: " in text and text.endswith("\n\n- new: comparable\n")
    assert {path.name for path in tmp_path.iterdir()} == {"old", "new"}


def test_raw_files_and_records_give_the_same(tmp_path: Path, capsys: Capture) -> None:
    """Also for a rule of the whole run: noise in one window."""

    def disturb(folder: Path, lines: list[dict[str, Any]]) -> None:
        stolen = {"loadgen": {"cpuacct.usage": "2500000000"}, "proc_stat": "cpu 150 0 200 1000 0 0 0 90 0 0"}
        write_measurement(folder, lines[0], output_of(lines[0], 2000), tool={"after": stolen})

    argv = [make(tmp_path / "old", change=disturb), make(tmp_path / "new")]
    raw = printed(capsys, "compare", *argv)
    assert "| 2,000 (noisy: 2,000) | 2,000 |" in raw
    for name in argv:
        build_verb([name])
    assert printed(capsys, "compare", *argv) == raw


def test_incompatible_runs_say_why_and_have_no_figures(tmp_path: Path, capsys: Capture) -> None:
    assert compare_verb([make(tmp_path / "old"), make(tmp_path / "new", host=HOST | {"kernel": "6.12"})]) == 1
    why = "- new: incompatible: host kernel: 6.1.0 vs 6.12\n- new: not comparable: host kernel\n"
    assert capsys.readouterr().out == why


def test_of_several_runs_the_comparable_ones_are_shown(tmp_path: Path, capsys: Capture) -> None:
    argv = [make(tmp_path / f"r{number}", {"tornado": 1 + number / 10}) for number in range(4)]
    assert compare_verb([*argv[:2], make(tmp_path / "other", containers="another way"), *argv[2:]]) == 1
    text = capsys.readouterr().out
    assert "| load | service | figure | r0 | r1 | r2 | r3 |\n" in text
    assert "| requests/s | 1,500 | 1,650 | 1,800 | 1,950 |\n" in text
    assert "- r1: comparable\n" in text and "- other: not comparable: containers\n" in text


def test_a_run_and_itself_are_refused(tmp_path: Path) -> None:
    one, other = make(tmp_path / "one"), make(tmp_path / "other")
    (tmp_path / "link").symlink_to("one")
    for argv in ([one, one], [one, other, f"{one}/"], [one, str(tmp_path / "link")]):
        assert "given twice" in str(refused(UserError, compare_verb, argv))


def test_a_run_that_was_never_begun_has_the_cause_everywhere(tmp_path: Path, capsys: Capture) -> None:
    """Like other failed runs, it has the images that were inspected."""

    def never(folder: Path, lines: list[dict[str, Any]]) -> None:
        for path in (folder / "raw").glob("r*"):
            shutil.rmtree(path)

    def same_image(folder: Path, lines: list[dict[str, Any]]) -> None:
        for path in folder.glob("raw/r*/*/*/*/*/*/meta.json"):
            path.write_text(path.read_text().replace("cd" * 32, "ab" * 32))

    argv = [make(tmp_path / "old", change=same_image), make(tmp_path / "new", change=never)]
    assert "All 8 rows: new: not run." in printed(capsys, "compare", *argv)


def test_hostile_names_are_escaped(tmp_path: Path, capsys: Capture) -> None:
    def rename(folder: Path, lines: list[dict[str, Any]]) -> None:
        build_verb([str(folder)])
        records = folder / "records.jsonl"
        changed = [json.loads(line) for line in records.read_text().splitlines()]
        for record in changed:
            if record["server"] == "aiohttp":
                record["service"] = "\u202e" + HOSTILE + "\n# no heading"
                record["scenario"] = "../../../etc"
        records.write_text("".join(json.dumps(record) + "\n" for record in changed))

    name = HOSTILE.replace("/", "")
    runs = {f"..{name} \u202e0": "0", f"..{name} \u202e1": "1", f"{name}2": "0"}
    argv = [make(tmp_path / run, change=rename, engine=HOSTILE + engine) for run, engine in runs.items()]
    assert compare_verb(argv) == 1
    text = capsys.readouterr().out
    assert "\u202e" not in text and "&lt;script&gt;" in text and "<script" not in text
    assert not [line for line in text.splitlines() if line.startswith("# no")]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) > 2 and len({line.replace("\\|", "").count("|") for line in rows}) == 1


def test_two_folders_of_one_name_are_told_apart(tmp_path: Path, capsys: Capture) -> None:
    one, other = make(tmp_path / "a/run"), make(tmp_path / "b/run", {"tornado": 1.2})
    assert f"| {one} | {other} | against {one} |" in printed(capsys, "compare", one, other)

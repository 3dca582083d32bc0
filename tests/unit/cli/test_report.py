"""`python3 -m bench build RUN`: a record for each planned measurement, whatever is on disk, and reproducible files."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from built_runs import build, lines_of, report_of, write_a_run_of_each_tool
from cpu import cpu_of
from make_run import many, output_of, services_of, write_measurement, write_run
from places import ROOT

from bench.records.record import ERROR_KINDS, FIGURES, LATENCIES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_a_run_of_each_tool(tmp_path / "a-run")


def test_a_record_holds_what_was_measured(folder: Path) -> None:
    records = build(folder)
    assert [record.tool for record in records] == ["wrk", "hey", "ab", "vegeta"]
    wrk, vegeta = records[0], records[3]
    assert (wrk.requests, wrk.successes, wrk.goodput, wrk.duration_s) == (20000, 20000, 4000.0, 5.0)
    assert (wrk.latency_kind, vegeta.latency_kind) == ("closed loop", "open loop")
    assert (wrk.server_cpu_s, wrk.loadgen_cpu_s, wrk.cpu_per_success_s) == (1.0, 1.5, 1 / 20000)
    figures = (wrk.latency_s["p99"], wrk.memory_loaded_bytes, wrk.throttled_s, wrk.steal_ratio)
    assert figures == (0.032, 50 << 20, 0.0, 1 / 600) and wrk.image_id == "sha256:" + "cd" * 32
    assert wrk.base_label == "mmdebstrap, Debian trixie, minbase"
    assert vegeta.goodput == pytest.approx(500, rel=1e-3)
    assert all(record.valid and record.raw_sha256 for record in records)


def test_a_base_without_a_label_is_what_it_calls_itself(folder: Path) -> None:
    saved = folder / "raw/services/aiohttp-py313-debian"
    (saved / "os-release.txt").write_text('ID=x\nPRETTY_NAME="A stand-in (NOT Alpine Linux)"\n')
    assert build(folder)[0].base_label == "mmdebstrap, Debian trixie, minbase"
    (saved / "image.json").write_text('[{"Id": "sha256:0", "Config": {"Labels": null}}]')
    assert build(folder)[0].base_label == "A stand-in (NOT Alpine Linux)"


def test_cgroup_v2_counters_are_read_too(folder: Path) -> None:
    line = lines_of(folder)[0]
    used = {"before": "usage_usec 1000000\nuser_usec 1\n", "after": "usage_usec 3000000\nuser_usec 1\n"}
    ends = {when: {"loadgen": {"cpu.stat": text}, "proc_stat": "intr 1"} for when, text in used.items()}
    write_measurement(folder, line, output_of(line, 4000), tool=ends)
    record = build(folder)[0]
    assert (record.loadgen_cpu_s, record.steal_ratio) == (2.0, None)
    assert record.nulls["steal_ratio"] == "tool.json does not say"


def test_every_missing_number_is_null_with_a_reason(folder: Path) -> None:
    line = lines_of(folder)[0]
    for name in ("tool.json", "output.txt"):
        (folder / line["dir"] / name).unlink()
    (services_of(folder, line) / f"{line['service']}.after").unlink()
    shutil.rmtree(folder / "raw/services")
    record = build(folder)[0]
    missing = {name for name in FIGURES if getattr(record, name) is None}
    missing |= {f"errors.{kind}" for kind in ERROR_KINDS} | {f"latency_s.{key}" for key in LATENCIES}
    assert missing == record.nulls.keys() and all(record.nulls.values())
    assert record.nulls["requests"] == "the tool's output is missing"
    assert record.nulls["server_cpu_s"] == "the server's counters were not saved"
    assert "0" not in {json.dumps(getattr(record, name)) for name in missing & set(FIGURES)}


def test_the_reason_of_the_host_script_is_kept(folder: Path) -> None:
    line = lines_of(folder)[0]
    for when in ("before", "after"):
        (services_of(folder, line) / f"{line['service']}.{when}").write_text("null no Docker socket here\n")
    record = build(folder)[0]
    assert record.valid and record.nulls["cpu_per_success_s"] == "no Docker socket here"


def test_a_counter_that_went_back_is_null(folder: Path) -> None:
    line = lines_of(folder)[0]
    write_measurement(folder, line, output_of(line, 4000), cpu_s=-1)
    assert build(folder)[0].server_cpu_s is None


def test_what_has_no_complete_record_is_told_apart(folder: Path) -> None:
    wrk, hey, ab, vegeta = lines_of(folder)
    shutil.rmtree(folder / wrk["dir"])
    (folder / hey["dir"] / "meta.json").unlink()
    (folder / ab["dir"] / "meta.json").write_text('{"schema":1,"id":"r01')
    (folder / vegeta["dir"] / "meta.json").write_text('{"schema":1,"id":"r09-0009","outcome":"measured"}')
    records = build(folder)
    assert [record.outcome for record in records] == ["not run", "cut off", "cut off", "measured"]
    assert not any(record.valid for record in records) and "r09-0009" in records[3].causes[0].detail
    report = (folder / "report.md").read_text()
    for words in ("4 measurements planned, 1 completed, 0 valid.", "not run", "cut off"):
        assert words in report


def test_a_failed_service_is_in_every_record_of_its_own(folder: Path) -> None:
    wrk = lines_of(folder)[0]
    shutil.rmtree(folder / "raw/r01")
    words = "GET /json: expected 200, got 500"
    failure = json.dumps({"outcome": "failed verification", "detail": words})
    (folder / "raw/services" / wrk["service"] / "failure.json").write_text(failure)
    told = {(record.outcome, record.nulls["goodput"]) for record in build(folder)}
    assert told == {("failed verification", f"failed verification: {words}")}
    assert words in (folder / "report.md").read_text()


JIT = {
    "JIT on": "available True\nenabled True\n",
    "JIT off": "available True\nenabled False\n",
    "JIT built in, unknown whether on": "available True\n",
    "no JIT": "available False\nenabled False\n",
    "PyPy has a JIT of its own, always on": "null PyPy has a JIT of its own, always on\n",
}


@pytest.mark.parametrize("words", JIT)
def test_the_jit_is_what_the_interpreter_tells_and_not_what_was_asked(words: str, folder: Path) -> None:
    facts, service = json.loads((folder / "run.json").read_text()), "aiohttp-py313-debian"
    asked = "- PYTHON_JIT=1, as reported by the interpreters"
    (folder / "run.json").write_text(json.dumps(facts | {"knobs": {"PYTHON_JIT": "1"}}))
    assert f"{asked}: unknown: {service}\n" in report_of(folder)
    (folder / f"raw/services/{service}/jit.txt").write_text(JIT[words])
    assert str(build(folder)[0].python_build).endswith(f", {words}")
    assert f"{asked}: {words}: {service}\n" in (folder / "report.md").read_text()
    (folder / "run.json").write_text(json.dumps(facts | {"knobs": {"PYTHON_JIT": "0"}}))
    assert "PYTHON_JIT=1" not in report_of(folder)


def test_the_same_raw_files_give_the_same_bytes_elsewhere(folder: Path, tmp_path: Path) -> None:
    build(folder)
    other = tmp_path / "moved/under another name"
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns("records.jsonl", "report.md", "index.html"))
    for path in other.rglob("*"):
        os.utime(path, (0, 0))
    environment = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "bench", "build", str(other)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    for name in ("records.jsonl", "report.md", "index.html"):
        assert (other / name).read_bytes() == (folder / name).read_bytes()
        assert str(tmp_path) not in (folder / name).read_text()


def test_building_again_leaves_nothing_else_behind(folder: Path) -> None:
    before, made = set(folder.rglob("*")), ("records.jsonl", "verdicts.jsonl", "report.md", "index.html")
    build(folder)
    build(folder)
    assert set(folder.rglob("*")) - before == {folder / name for name in made}


def numbers_in(folder: Path) -> int:
    """The count of numbers in all files of a run: the least work of any reader of its raw files."""
    return sum(len(re.findall(rb"\d+", path.read_bytes())) for path in folder.rglob("*") if path.is_file())


BUILD = """
import os, subprocess, sys
_, status, used = os.wait4(subprocess.Popen(sys.argv[1:], stdout=2).pid, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(status != 0)
"""


def test_measurements_cost_at_most_8_times_reading_their_files_and_50_kb_each(tmp_path: Path) -> None:
    lines = list(many(2500))
    write_run(tmp_path, lines)
    for line in lines:
        write_measurement(tmp_path, line, output_of(line, 500 if line["rate"] else 2000))
    reading = cpu_of(lambda: numbers_in(tmp_path), 2)
    # Through another process, because a child counts with its parent's memory until it executes its own program.
    words = [sys.executable, "-c", BUILD, sys.executable, "-m", "bench", "build", str(tmp_path)]
    built = [subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.split() for _ in range(2)]
    cpu, most_kb = (min(float(used[column]) for used in built) for column in (0, 1))
    print(f"{cpu:.2f} s of CPU, files read in {reading:.2f} s, {most_kb / 1024:.0f} MB at most")
    # Measured: 3.2 times, also with four times as many measurements; 5.1 times with little memory bandwidth.
    assert cpu <= 8 * reading and most_kb <= 2500 * 50
    assert len((tmp_path / "records.jsonl").read_text().splitlines()) == 2500

"""Several load generators on one cell: their sums, and the names of those that make the measurement invalid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from client_runs import one_record, write_clients
from make_run import entry, output_of, write_measurement, write_run

from bench.analysis.runs.compatibility import RunFacts, compatibility_of
from bench.records.record import Record
from bench.run.raw_files import hashes_of, places_of, read_files

SECOND = 10**9


def measured(folder: Path, rates: tuple[float, ...] = (2000, 1000), tool: str = "wrk", **changes: Any) -> Record:
    level = "r300" if tool == "vegeta" else "c64"
    line = entry("aiohttp", "json", tool, level, loadgens=len(rates))
    write_run(folder, [line], loadgens=len(rates))
    write_clients(folder, line, rates, **changes)
    return one_record(folder)


def causes(record: Record) -> dict[str, str]:
    return {cause.cause: cause.detail for cause in record.causes}


@pytest.mark.parametrize("tool", ["wrk", "ab", "hey"])
def test_requests_and_goodput_are_sums_and_percentiles_are_null_with_a_reason(tool: str, tmp_path: Path) -> None:
    record = measured(tmp_path, tool=tool)
    assert (record.valid, record.causes) == (True, ())
    assert record.goodput == pytest.approx(3000, rel=0.01) and record.requests == 15_000
    assert (record.loadgens, record.start_skew_s, record.connections) == (2, 0.0, 64)
    assert record.latency_s["p50"] is record.latency_s["p99"] is None
    assert record.nulls["latency_s.p99"].startswith("several load generators: their percentiles")
    assert record.latency_s["mean"] is not None and record.latency_s["max"] is not None
    assert record.loadgen_cpu_s == pytest.approx(3.0)
    report = (tmp_path / "report.md").read_text()
    assert "- load generators: 2 per cell, " in report and "shared CPUs" in report


def test_vegetas_percentiles_are_those_of_its_own_report_of_all(tmp_path: Path) -> None:
    record = measured(tmp_path, (150, 150), "vegeta")
    assert (record.valid, record.causes) == (True, ())
    assert record.requests == 1500 and record.sent_rate == pytest.approx(300, rel=0.01)
    assert record.latency_s["p99"] == 0.009
    assert record.lag_s is None and record.nulls["lag_s"].startswith("several load generators: each has its own")


def test_vegetas_report_of_all_has_to_be_there_and_to_have_as_many_requests(tmp_path: Path) -> None:
    record = measured(tmp_path / "less", (150, 150), "vegeta")
    (file,) = (tmp_path / "less").glob("raw/r*/*/*/*/output.json")
    file.write_text(file.read_text().replace('"requests":1500', '"requests":1499'))
    assert "1499 requests in the report of all" in causes(one_record(tmp_path / "less"))["arithmetic"]
    file.unlink()
    assert "was not saved" in causes(one_record(tmp_path / "less"))["output"]
    assert record.valid


@pytest.mark.parametrize(("late_ns", "valid"), [(249_000_000, True), (251_000_000, False)])
def test_load_generators_start_within_a_twentieth_of_the_load(late_ns: int, valid: bool, tmp_path: Path) -> None:
    # The load lasts 5 s.
    record = measured(tmp_path, tools={2: {"start_ns": SECOND + late_ns, "end_ns": 7 * SECOND + late_ns}})
    assert record.start_skew_s == late_ns / 1e9
    assert record.valid is valid and (valid or "up to 0.251 s apart" in causes(record)["not together"])


def test_a_clock_that_is_ahead_is_no_late_start_but_one_that_is_known_badly_may_hide_one(tmp_path: Path) -> None:
    ahead = {2: {"start_ns": 31 * SECOND, "end_ns": 37 * SECOND}}
    exact = measured(tmp_path / "exact", tools=ahead, clocks=["one\t0\t1000", f"two\t{30 * SECOND}\t1000000"])
    assert exact.valid and exact.start_skew_s == 0
    vague = measured(tmp_path / "vague", tools=ahead, clocks=["one\t0\t1000", f"two\t{30 * SECOND}\t300000000"])
    assert "up to 0.3 s apart" in causes(vague)["not together"]
    lost = measured(tmp_path / "lost", tools=ahead, clocks=["one\t0\t1000"])
    assert "not known when" in causes(lost)["not together"] and "client 2: clients.tsv" in causes(lost)["output"]


@pytest.mark.parametrize(
    ("tool", "cause", "words"),
    [
        (
            {"after": {"loadgen": {"cpuacct.usage": "6400000000"}}},
            "loadgen-bound",
            "client 2: wrk's CPUs were 90.0% busy",
        ),
        ({"waits": {"seen_ns": str(7 * SECOND), "waited_ns": str(SECOND)}}, "loadgen-bound", "client 2: wrk waited"),
        ({"exit_status": 1}, "output", "client 2: the tool ended with exit status 1"),
        ({"health_after": {"status": 503}}, "server", "client 2: health check after the load: status 503"),
    ],
)
def test_one_that_is_at_its_limit_or_fails_is_named(
    tool: dict[str, Any], cause: str, words: str, tmp_path: Path
) -> None:
    record = measured(tmp_path, tools={2: tool})
    assert not record.valid and words in causes(record)[cause]
    assert "client 1" not in causes(record)[cause]


def test_one_that_ends_early_is_named(tmp_path: Path) -> None:
    measured(tmp_path)
    (file,) = tmp_path.glob("raw/r*/*/*/*/client-2/output.txt")
    file.write_text(file.read_text().replace("5000 requests in 5.00s", "4000 requests in 4.00s"))
    assert causes(one_record(tmp_path))["not the asked load"] == "client 2: 4 s of load instead of 5"


def test_errors_of_one_are_not_hidden_by_the_sum(tmp_path: Path) -> None:
    measured(tmp_path, (90_000, 1000))
    (file,) = tmp_path.glob("raw/r*/*/*/*/client-2/output.txt")
    file.write_text(file.read_text().replace("Requests/sec:", "  Non-2xx or 3xx responses: 50\nRequests/sec:"))
    record = one_record(tmp_path)
    # 1 % of its own attempts, less than 0.1 % of all.
    assert causes(record)["errors"] == "client 2: 50 of 5000 attempts (1.00%): non2xx 50"
    assert record.errors["non2xx"] == 50


def test_cpus_that_several_share_are_judged_together(tmp_path: Path) -> None:
    half = {"after": {"loadgen": {"cpuacct.usage": "3800000000"}}}
    shared = measured(tmp_path / "shared", tools={1: half, 2: half})
    assert "clients 1, 2: the CPUs that they share were 93.3% busy" in causes(shared)["loadgen-bound"]
    assert shared.loadgen_busy_ratio == pytest.approx(0.933, abs=0.001)
    clocks = ["one\t0\t0", "two\t0\t0"]
    assert "loadgen-bound" not in causes(measured(tmp_path / "apart", tools={1: half, 2: half}, clocks=clocks))


def test_what_happened_to_the_server_is_told_once(tmp_path: Path) -> None:
    record = measured(tmp_path, after={"restarts": 2})
    assert causes(record)["server"] == "restarted 2 times"


def test_a_load_generator_that_has_left_nothing(tmp_path: Path) -> None:
    measured(tmp_path)
    for file in tmp_path.glob("raw/r*/*/*/*/client-2/*"):
        file.unlink()
    record = one_record(tmp_path)
    assert not record.valid and "client 2: no output was saved" in causes(record)["output"]
    assert record.goodput is None and record.requests is None


def test_a_load_that_failed_tells_what_became_of_it_first(tmp_path: Path) -> None:
    record = measured(tmp_path)
    (meta,) = tmp_path.glob("raw/r*/*/*/*/meta.json")
    said = {"id": record.id, "outcome": "load tool failed", "detail": "client 2: wrk ended with status 1"}
    meta.write_text(json.dumps(said))
    (meta.parent / "client-2/tool.json").unlink()
    record = one_record(tmp_path)
    assert record.causes[0].cause == "load tool failed" and record.causes[0].detail == said["detail"]
    assert "not together" not in causes(record) and record.start_skew_s is None


@pytest.mark.parametrize("text", ["", "\xff", "one\t1\n", "-\tx\t0\n-\t0\t0\n", "-\t0\t0\n" * 9, "\t\t\n\t\t\n"])
def test_whatever_the_file_of_clocks_holds_there_is_a_record(text: str, tmp_path: Path) -> None:
    measured(tmp_path)
    (file,) = tmp_path.glob("raw/r*/*/*/*/clients.tsv")
    file.write_text(text, encoding="latin-1")
    record = one_record(tmp_path)
    assert record.valid is (text.count("-\t0\t0") >= 2)


def test_one_load_generator_has_none_of_this(tmp_path: Path) -> None:
    line = entry("aiohttp")
    write_run(tmp_path, [line])
    write_measurement(tmp_path, line, output_of(line, 3000))
    record = one_record(tmp_path)
    assert record.valid and record.latency_s["p99"] is not None
    assert (record.loadgens, record.start_skew_s) == (None, None)
    assert "load generators:" not in (tmp_path / "report.md").read_text()


def test_files_of_a_load_generator_that_were_edited_since_are_found(tmp_path: Path) -> None:
    record = measured(tmp_path)
    (folder,) = (path.parent.parent for path in tmp_path.glob("raw/r*/**/client-1/tool.json"))
    place = places_of(str(tmp_path), str(folder.relative_to(tmp_path)), record.service, in_block=False)
    names = hashes_of(read_files(str(tmp_path), place, "wrk"))
    assert {"client-1/tool.json", "client-2/output.txt", "clients.tsv"} <= names.keys()


def test_cells_of_one_and_of_two_are_not_compared(tmp_path: Path) -> None:
    one, two = (
        RunFacts(run={}, plan=[entry("aiohttp", **changes)], records=[], services={}, changed=())
        for changes in ({}, {"loadgens": 2})
    )
    found = compatibility_of(one, two)
    assert not found.comparable and "loadgens of json wrk c64" in found.cause

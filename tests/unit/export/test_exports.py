"""Exports: every record in every format without loss, and the examples in docs/exports.md."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections import Counter
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_runs import exported
from captured import Capture
from golden import same_as
from loop_runs import block, write_window
from make_run import entry, mark_measured, output_of, plan_lines, write_measurement, write_run
from places import ROOT
from profiled_run import RATES as RATES_OF_TWO
from profiled_run import write_profiled
from text_files import written
from turns_runs import measured

from bench.__main__ import main
from bench.cli.report import FORMATS, build_verb
from bench.core.formats import escaped
from bench.core.service_settings import Settings
from bench.export.columns import COLUMNS, against_best, copied, rows, table, types
from bench.export.gobench import name_of, write
from bench.records.file import read_records
from bench.records.record import Cause, Record
from bench.run.reader import read_run
from bench.tools.levels import Level

DOC = ROOT / "docs/exports.md"
WRONG = "r03-b1-json-wrk-c16-w2-2"
"""The id of an invalid window of a table."""
RATES = {"aiohttp": 3000, "uvicorn-asgi": 4000, "bjoern-wsgi": 5000}


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three rounds with errors of bjoern (the fastest), an open loop, a table, the null server, and odd text."""
    loads = product(RATES, (("wrk", "c64"), ("ab", "c16n1000"), ("vegeta", "r500")))
    plan = plan_lines(((stack, "queries-20-raw", *load) for stack, load in loads), 3)
    for round in (1, 2, 3):
        plan.append(entry("aiohttp", "json", number=20, round=round, mode="null", service="null"))
        plan += block(round, ("aiohttp", "uvicorn-asgi"), windows=2)
    folder = write_run(tmp_path_factory.mktemp("exports") / "a-run", plan)
    for line in plan:
        stack = "null" if line.get("mode") == "null" else line["service"].removesuffix("-py313-debian")
        rps = 500 if line["rate"] else {**RATES, "null": 20000}[stack] + 10 * line["round"]
        if line.get("mode") == "turns":
            write_window(folder, line, rps, bad=40 if line["id"] == WRONG else 0)
            mark_measured(folder, line)
        else:
            write_measurement(folder, line, output_of(line, rps, 40 if stack == "bjoern-wsgi" else 0))
    hostile = plan[0]
    detail = 'exit 139, "=cmd|"; DROP TABLE\n<script>\u202e'
    write_measurement(folder, hostile, output_of(hostile, 100), meta={"outcome": "died", "detail": detail})
    build_verb([str(folder)])
    return folder


@pytest.fixture(scope="module")
def records(a_run: Path) -> list[Record]:
    return read_records(a_run)


def test_csv_has_every_record_and_every_value(a_run: Path, records: list[Record]) -> None:
    rows = list(csv.DictReader(io.StringIO(exported("csv", a_run).decode())))
    assert [row["id"] for row in rows] == [record.id for record in records]
    for row, record in zip(rows, records, strict=True):
        assert (row["run"], row["valid"], float(row["goodput"])) == ("a-run", str(record.valid).lower(), record.goodput)
        assert row["latency_p99_s"] == ("" if (p99 := record.latency_s["p99"]) is None else str(p99))
        assert row["lag_p99_s"] == ("" if record.lag_s is None else str(record.lag_s["p99"]))
        assert (json.loads(row["nulls"]), json.loads(row["errors"])) == (record.nulls, record.errors)
        assert json.loads(row["causes"]) == [asdict(cause) for cause in record.causes]
        assert json.loads(row["command"] or "null") == (None if record.command is None else [*record.command])
    died = next(row for row in rows if row["outcome"] == "died")
    assert "DROP TABLE <script>\u202e" in json.loads(died["causes"])[0]["detail"]


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", '=HYPERLINK("http://evil";"x")'])
def test_no_text_of_a_run_is_a_formula_in_csv(value: str) -> None:
    columns = {"text": "VARCHAR", "number": "BIGINT"}
    row = {"text": value, "number": -1}
    (made,) = csv.DictReader(io.StringIO(copied(columns, [row], "csv").decode(), newline=""))
    assert made == {"text": f"'{escaped(value)}", "number": "-1"}
    parquet = copied(columns, [row], "parquet")
    assert value.encode() in parquet and f"'{value}".encode() not in parquet


def test_no_cell_of_csv_has_a_control_character_and_json_loses_none() -> None:
    odd = "a\x00\x1b[31m\x7f\x9b1m\t\n\u202e\u2028\u00e9"
    values: dict[str, Any] = {"text": odd, "map": {odd: [odd, {odd: odd}]}, "items": [odd], "one": odd, "none": None}
    types = {"text": "VARCHAR", "map": "JSON", "items": "VARCHAR", "one": "JSON", "none": "JSON"}
    made = copied(types, [values], "csv").decode()
    assert "".join(mark for mark in made if not mark.isprintable()) == "\n\n"
    (row,) = csv.DictReader(io.StringIO(made))
    assert row["text"] == row["one"] == escaped(odd) == r"a\x00\x1b[31m\x7f\x9b1m\t\n\u202e\u2028é"
    assert (json.loads(row["map"]), json.loads(row["items"]), row["none"]) == (values["map"], [odd], "")


def test_differences_that_were_not_called_have_the_one_that_would_have_been(tmp_path: Path) -> None:
    run = write_profiled(tmp_path / "a-run", rates=dict.fromkeys(RATES_OF_TWO, 3000.0), profile=False, profiles=False)
    build_verb([str(run)])
    lines = [json.loads(line) for line in (run / "verdicts.jsonl").read_text().splitlines()]
    (contrast,) = (line for line in lines if line["kind"] == "contrast")
    (second,) = (line for line in lines if line.get("rank") == 2)
    assert contrast["verdict"] in ("equal", "no winner")
    assert contrast["smallest_visible"] == second["smallest_visible"] > 0
    rows = list(csv.DictReader(io.StringIO(exported("csv", run).decode())))
    of_second = [row for row in rows if row["mode"] == "turns" and row["service"] == second["service"]]
    assert {row["verdict"] for row in of_second} == {contrast["verdict"]}
    assert {float(row["smallest_visible"]) for row in of_second} == {contrast["smallest_visible"]}
    assert not [row for row in rows if row["verdict"] and row not in of_second]
    text = exported("gobench", run).decode()
    words = f"json wrk c16, {contrast['b']} against {contrast['a']}: {contrast['verdict']}"
    assert f"# {words}; differences below {100 * contrast['smallest_visible']:.1f} % would go unnoticed\n" in text


def test_a_verdict_against_the_best_is_turned_where_the_best_is_second(tmp_path: Path) -> None:
    table = {"scenario": "json", "tool": "wrk", "level": "c16"}
    lines = [
        {"kind": "service", **table, "service": "b", "rank": 1},
        {"kind": "contrast", **table, "a": "a", "b": "b", "verdict": "faster", "smallest_visible": None},
        {"kind": "contrast", **table, "a": "b", "b": "c", "verdict": "equal", "smallest_visible": 0.02},
        {"kind": "contrast", **table, "a": "a", "b": "c", "verdict": "faster", "smallest_visible": None},
    ]
    write_run(tmp_path, [])
    assert against_best(read_run(str(tmp_path))) == {}
    (tmp_path / "verdicts.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "no JSON\n")
    assert against_best(read_run(str(tmp_path))) == {
        ("json", "wrk", "c16", "a"): {"verdict": "slower", "smallest_visible": None},
        ("json", "wrk", "c16", "c"): {"verdict": "equal", "smallest_visible": 0.02},
    }


def test_every_field_of_a_record_is_in_a_column(records: list[Record]) -> None:
    told = [column.name for column in COLUMNS]
    for field in Record.__dataclass_fields__:
        assert field in told or f"{field.removesuffix('_s')}_p99_s" in told, field
    assert len(told) == len(set(told))
    # In every record, texts are texts and numbers are numbers.
    kinds = {"VARCHAR": str, "BIGINT": int, "DOUBLE": int | float, "BOOLEAN": bool, "JSON": list | tuple | dict}
    for row in rows("a-run", records, {}):
        assert row.keys() <= {*told}
        for name, kind in types().items():
            assert row.get(name) is None or isinstance(row[name], kinds[kind]), name


def test_parquet_is_the_csv_with_types(a_run: Path, tmp_path: Path) -> None:
    parquet, flat = tmp_path / "run.parquet", tmp_path / "run.csv"
    parquet.write_bytes(exported("parquet", a_run))
    flat.write_bytes(exported("csv", a_run))
    with duckdb.connect() as database:
        made = database.read_parquet(str(parquet))
        assert dict(zip(made.columns, map(str, made.types), strict=True)) == types()
        rows = made.fetchall()
    flat_rows = list(csv.reader(flat.open(newline="")))[1:]
    assert len(rows) == len(flat_rows)
    for row, texts in zip(rows, flat_rows, strict=True):
        for value, text, kind in zip(row, texts, types().values(), strict=True):
            assert (_read(value, kind) if kind == "JSON" else value) == _read(text, kind)


def _read(text: str | None, kind: str) -> Any:
    """The value of a CSV field, or of JSON in Parquet; empty is null, because the run has no empty text."""
    if not text:
        return None
    boolean = {"true": True, "false": False}.__getitem__
    return {"VARCHAR": str, "JSON": json.loads, "BIGINT": int, "DOUBLE": float, "BOOLEAN": boolean}[kind](text)


def test_the_line_in_docs_answers_its_question(a_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (question,) = re.findall(r'^duckdb -c "([^"]*run\.parquet[^"]*)"', DOC.read_text(), re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    Path("run.parquet").write_bytes(exported("parquet", a_run))
    with duckdb.connect() as database:
        answer = database.sql(question).fetchall()
    # The median of three rounds, without invalid measurements: otherwise bjoern would lead.
    wrk = [row for row in answer if row[1:4] == ("queries-20-raw", "wrk", "c64")]
    assert [(row[0], row[4]) for row in wrk] == [("uvicorn-asgi-py313-debian", 4020), ("aiohttp-py313-debian", 3025)]
    assert [row[5] for row in wrk] == [3, 2]
    assert not [row for row in answer if "bjoern" in row[0]]
    assert {row[2] for row in answer} == {"wrk", "ab"}


def test_gobench_has_a_line_for_every_valid_round(a_run: Path, records: list[Record]) -> None:
    lines = exported("gobench", a_run).decode().splitlines()
    benchmarks = [line.split("\t") for line in lines if line.startswith("Benchmark")]
    solo = [record for record in records if record.mode == "solo"]
    # A service's two windows of a round are one line; in the third round, one of uvicorn's is not valid.
    assert len(benchmarks) == sum(record.valid for record in solo) + 2 * 3 - 1
    assert f"# left out, not valid: {sum(not r.valid for r in records)} of {len(records)} measurements" in lines
    causes = Counter(record.causes[0].cause for record in records if not record.valid)
    assert {f"# left out, {cause}: {count}" for cause, count in causes.items()} <= set(lines)
    assert "# left out, the null server, a control: 3" in lines
    assert not [name for name, *_ in benchmarks if "bjoern" in name or re.search(r"-[0-9]+$", name)]
    by_name = {name: fields for name, *fields in benchmarks}
    stem = "server=aiohttp/framework=aiohttp/python=3.13/base=debian"
    count, *values = by_name[f"BenchmarkQueries20Raw/{stem}/level=c64/tool=wrk"]
    last = next(r for r in reversed(solo) if r.valid and (r.server, r.tool) == ("aiohttp", "wrk"))
    assert last.goodput is not None and last.cpu_per_success_s is not None
    found = {unit: float(value) for value, unit in map(str.split, values)}
    own = {"req/s": last.goodput, "ns/op": 1e9 / last.goodput, "cpu-ns/op": 1e9 * last.cpu_per_success_s}
    assert int(count) == last.successes and {unit: found[unit] for unit in own} == pytest.approx(own)
    # A target rate is not a speed.
    at_rate = by_name[f"BenchmarkQueries20Raw/{stem}/level=r500/tool=vegeta"][1:]
    assert {value.split()[1] for value in at_rate} == {"cpu-ns/op", "memory-B"}


def test_gobench_has_a_line_for_every_round_of_a_service_in_turns(a_run: Path) -> None:
    turns = measured({"aiohttp": 3000, "tornado": 2000}, 3)
    late = next(n for n, one in enumerate(turns) if one.round == 2)
    turns[late] = replace(turns[late], valid=False, causes=(Cause("errors", "40 of 400"),))
    lines = write("a-run", read_run(str(a_run)), turns).decode().splitlines()
    assert "load: wrk 4.2.0, 4 s in turns" in lines
    assert "# left out, errors: 1" in lines
    found = [line.split("\t") for line in lines if line.startswith("Benchmark")]
    stem = "server=aiohttp/framework=aiohttp/python=3.13/base=debian/level=c16/tool=wrk"
    own = [fields for name, *fields in found if name == f"BenchmarkJson/{stem}"]
    # A line of one of its windows would be taken for the round.
    assert (len(found), len(own)) == (5, 2)
    windows = [one for one in turns if one.round == 1 and one.server == "aiohttp"]
    successes = sum(one.successes or 0 for one in windows)
    values = {unit: float(value) for value, unit in map(str.split, own[0][1:])}
    assert int(own[0][0]) == successes
    assert values["req/s"] == pytest.approx(successes / sum(one.duration_s or 0 for one in windows), rel=1e-3)
    assert values["cpu-ns/op"] == pytest.approx(1e9 * sum(one.server_cpu_s or 0 for one in windows) / successes)


def test_each_setting_is_a_key_of_its_own_for_benchstat(records: list[Record]) -> None:
    parts = name_of(replace(records[1], settings=Settings.parse("WORKERS=2 CPU_QUOTA=0.5"))).split("/")
    assert parts[parts.index("base=debian") + 1 :][:2] == ["workers=2", "cpu_quota=0.5"]


def test_no_word_of_a_plan_ends_a_name_or_a_line(a_run: Path, records: list[Record]) -> None:
    spoilt = replace(records[1], server="a b/c\td", level=Level.read("c64-8"), scenario="\u00e9 json", package="x==1/2")
    stack = "server=a_b_c_d/framework=aiohttp/python=3.13/base=debian/package=x==1_2"
    assert name_of(spoilt) == f"BenchmarkJson/{stack}/level=c64-8/tool={spoilt.tool}"
    source = read_run(str(a_run))
    facts = replace(source.facts, engine="26\nBenchmarkFake 1 1 ns/op", host={"cpu": "a\nharness: same"})
    made = write("a\nrun", replace(source, facts=facts), records).decode()
    assert "BenchmarkFake 1" in made
    assert not re.search(r"^(BenchmarkFake|harness: same|run)", made, re.MULTILINE)


def test_benchstat_reads_it(a_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.txt"
    file.write_bytes(exported("gobench", a_run))

    def benchstat(*words: str) -> list[list[str]]:
        done = subprocess.run(["benchstat", "-format", "csv", *words], capture_output=True, text=True, check=True)
        assert "error" not in done.stderr.lower(), done.stderr
        return [*csv.reader(done.stdout.splitlines())]

    filters = ("-filter", ".name:Queries20Raw /tool:wrk .unit:req/s")
    rows = benchstat(*filters, "-row", ".name", "-col", "/server@(aiohttp uvicorn)", str(file))
    figures = next(row for row in rows if row[:1] == ["Queries20Raw"])
    assert (float(figures[1]), float(figures[3])) == (pytest.approx(3025), pytest.approx(4020))
    # In turns: three samples of each service, and more is better.
    rows = benchstat("-filter", ".unit:req/s .name:Json", "-row", ".name", "-col", "/server", str(file))
    assert any("n=3" in cell for row in rows for cell in row)
    # A run and its copy share one table; runs of different harnesses have two tables and no comparison.
    other = tmp_path / "other.txt"
    other.write_text(file.read_text().replace("harness: ", "harness: other"))
    both = [benchstat("-filter", ".unit:req/s /tool:wrk", str(file), str(second)) for second in (file, other)]
    assert [any("vs base" in row for row in rows) for rows in both] == [True, False]


def test_the_documented_columns_are_complete() -> None:
    """The schema has the fields of a record, and the page the columns that are none."""
    text = DOC.read_text()
    made = re.sub(r"(?s)(<!-- from .*? -->\n\n).*?(\n?<!-- end -->)", rf"\1{re.escape(table())}\2", text)
    same_as(DOC, made.replace("\\", ""))
    fields = json.loads((ROOT / "docs/records.schema.json").read_text())["properties"]
    parts = {column.name for column in COLUMNS if re.match(r"(latency|lag)_.+_s$", column.name)}
    assert {column.name for column in COLUMNS} <= {*fields, *parts, *re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)}


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["xml", "a-run"], "unknown format 'xml'; there are: csv, parquet, gobench"),
        (["csv"], "export takes a format (csv, parquet, gobench, events-csv, events-parquet) and a run"),
        (["csv", "no-run"], "unknown run 'no-run'; ls results"),
    ],
)
def test_what_cannot_be_exported_is_a_one_line_error(argv: list[str], told: str, capsys: Capture) -> None:
    assert main(["export", *argv]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and told in err


@pytest.mark.parametrize("text", ["{}", '{"schema":2}', "no JSON", "\udcff"])
@pytest.mark.parametrize("form", FORMATS)
def test_records_of_another_kind_are_refused(
    form: str, text: str, a_run: Path, tmp_path: Path, capsys: Capture
) -> None:
    folder = written(tmp_path / "spoilt", {name: (a_run / name).read_text() for name in ("run.json", "plan.jsonl")})
    (folder / "records.jsonl").write_bytes(text.encode(errors="surrogateescape"))
    assert main(["export", form, str(folder)]) == 2
    assert "rebuild it with: scripts/report.sh spoilt" in capsys.readouterr().err
    (folder / "records.jsonl").unlink()
    assert main(["export", form, str(folder)]) == 2
    assert "No such file" in capsys.readouterr().err

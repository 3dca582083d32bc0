"""The report of a run of events: report.md and the terminal as golden files, exports, and the comment on it."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_runs import exported
from event_runs import GROWN, bad_day, cannot, defaults_of, event, releases, services_of, write_events
from golden import same_as
from places import GOLDEN
from turns_runs import write_turns

from bench.__main__ import main
from bench.analysis.findings import findings_of
from bench.cli.report import build_verb
from bench.core.service_settings import Settings
from bench.records.event import EventRecord, Fate
from bench.records.file import read_events
from bench.render.events import event_tables
from bench.render.pr_comment import events_comment, parse_policy
from bench.render.report import Report
from bench.render.terminal import NARROWEST, terminal
from bench.run.facts import RunFacts, run_facts_of
from bench.run.reader import read_run
from bench.words.events import describe_events

DOC = Path(__file__).parents[3] / "docs" / "exports.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_events(tmp_path / "a-run", bad_day(), defaults=defaults_of(bad_day()))


def test_report_of_a_bad_day(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_verb([str(folder)])
    same_as(GOLDEN / "events.md", (folder / "report.md").read_text())
    same_as(GOLDEN / "events.txt", capsys.readouterr().err)


@pytest.mark.parametrize("width", [NARROWEST, 80, 120])
def test_no_line_is_wider_than_the_terminal(folder: Path, width: int) -> None:
    events = describe_events(read_events(folder), run_facts_of({"services": services_of(bad_day())}))
    shown = terminal(Report(read_run(str(folder)), {}, findings_of([], RunFacts()), (), {}, events=events), (), width)
    assert max(map(len, shown.splitlines())) <= width
    assert "never came back" in shown and "waitress" in shown


def test_many_services_are_in_rows_without_details_and_not_on_the_terminal(tmp_path: Path) -> None:
    names = [f"server-{number}" for number in range(13)]
    records = [event(name, *case, gap_s=2.1) for name in names for case in (("reload", "keep-alive"), ("stop", ""))]
    folder = write_events(tmp_path / "every-server", records)
    events = describe_events(read_events(folder), run_facts_of({"services": services_of(records)}))
    assert events and events.services_down
    table = event_tables(events)[0]
    assert table.columns == ("service", "reload, keep-alive", "stop")
    assert [row[0] for row in table.rows] == [*names, "do they differ?", "load, client timeout"]
    assert {row[1:] for row in table.rows[:-2]} == {("lost 0 of 1,000",) * 2}
    shown = terminal(Report(read_run(str(folder)), {}, findings_of([], RunFacts()), (), {}, events=events), ())
    assert "lost 0 of" not in shown and "The table of 13 services is in report.md." in shown
    few = describe_events([one for one in records if one.server != names[0]], RunFacts())
    assert few and not few.services_down


BESIDE = "Up to 2 windows of the same event ran at once, on the same CPUs"


@pytest.mark.parametrize(
    "alone, said",
    [
        ({}, f"{BESIDE}."),
        ({"overload": [""]}, f"{BESIDE}; only one at a time under overload."),
        ({"reload": ["new connections"]}, f"{BESIDE}; only one at a time under reload, new connections."),
        ({"overload": [""], "recycle": ["never"]}, f"{BESIDE}; only one at a time under recycle and overload."),
    ],
)
def test_what_was_alone_is_named_where_the_run_has_it(alone: dict[str, list[str]], said: str) -> None:
    """An event of only one service is not named, because no other could have been beside it."""
    cases = {"reload": ["keep-alive"], "killed": [""]}
    records = [
        event(server, name, case, beside=beside)
        for beside, which in ((1, cases), (0, alone))
        for name, own in which.items()
        for case in own
        for server in ("a", "b")
    ]
    events = describe_events([*records, event("a", "hung", beside=0)], RunFacts())
    assert events and said in event_tables(events)[0].notes


def test_a_known_cause_of_a_services_figures_is_said() -> None:
    services = {event("a").service: {"notes": {"stall": "it writes twice"}}, event("b").service: {}}
    events = describe_events([event(server) for server in "ab"], run_facts_of({"services": services}))
    (said,) = [note for note in event_tables(events)[0].notes if "known defect" in note] if events else [""]
    assert said.startswith("Keep in mind: a") and "delayed TCP acknowledgements" in said


def test_services_one_after_the_other_are_beside_nobody() -> None:
    events = describe_events([event(server, beside=0) for server in "ab"], RunFacts())
    assert events and not [note for note in event_tables(events)[0].notes if "at once" in note]


def test_a_line_for_each_cell_and_pair_in_verdicts(folder: Path) -> None:
    build_verb(["--quiet", str(folder)])
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    cells = [line for line in lines if line["kind"] == "event"]
    assert len(cells) == sum(len(row.cells) for row in describe_events(read_events(folder), RunFacts()).table.rows)  # type: ignore[union-attr]
    kept = {one["service"]: one for one in cells if one["case"] == "keep-alive"}
    gunicorn, cannot = (kept[f"{server}-asgi-py313-debian"] for server in ("gunicorn", "waitress"))
    assert (gunicorn["lost"], gunicorn["sent"], gunicorn["rounds"]) == (42, 7000, 7)
    assert gunicorn["words"] == "lost 42 of 7,000"
    assert (cannot["kind_of_cell"], cannot["rounds"]) == ("cannot", 0) and "lost" not in cannot


def test_exports_have_a_row_for_each_event(folder: Path) -> None:
    build_verb(["--quiet", str(folder)])
    records, defaults = read_events(folder), defaults_of(bad_day())
    rows = [*csv.DictReader(io.StringIO(exported("events-csv", folder).decode()))]
    assert [(one["service"], one["event"], one["round"]) for one in rows] == [
        (one.service, one.event, str(one.round)) for one in records
    ]
    for row, record in zip(rows, records, strict=True):
        assert row["counts"] == str(record.counts).lower()
        assert row["lost"] == ("" if record.sent is None else str(record.lost))
        counted = [int(row[fate]) for fate in Fate if row[fate]]
        assert sum(counted) == (record.sent or 0) and bool(counted) == (record.sent is not None)
        assert json.loads(row["timeline"]) == [asdict(one) for one in record.timeline]
        assert row["ended"] == record.ended
        assert (json.loads(row["defaults"]) if row["defaults"] else None) == defaults.get(record.service)
    file = folder / "events.parquet"
    file.write_bytes(exported("events-parquet", folder))
    with duckdb.connect() as database:
        found = database.sql(f"SELECT count(*), sum(lost), sum(sent) FROM '{file}' WHERE counts").fetchall()
    counted = [one for one in records if one.counts]
    assert found == [(len(counted), sum(one.lost for one in counted), sum(one.sent or 0 for one in counted))]


def test_the_question_in_the_docs_finds_the_figures_of_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (question,) = re.findall(r'^duckdb -c "([^"]*events\.parquet[^"]*)"', DOC.read_text(), re.MULTILINE)
    after = {"a": (0.3, 0.5, 0.4), "b": (31.0, None, 30.0)}
    records = [
        event(name, "killed", round=number, extras={"restored_s": restored_s})
        for name, found in after.items()
        for number, restored_s in enumerate(found, 1)
    ]
    folder = write_events(tmp_path / "a-run", [*records, event("b", "killed", round=4, happened=False)])
    build_verb(["--quiet", str(folder)])
    monkeypatch.chdir(tmp_path)
    Path("events.parquet").write_bytes(exported("events-parquet", folder))
    with duckdb.connect() as database:
        answer = database.sql(question).fetchall()
    assert [(row[0][0], *row[1:]) for row in answer] == [("a", 3, 0.4), ("b", 3, 30.5)]


def test_verdicts_have_the_figures_of_each_event(tmp_path: Path) -> None:
    folder = write_events(
        tmp_path / "a-run",
        [
            event("a", "killed", round=1, extras={"restored_s": 0.3}),
            event("a", "killed", round=2, recovered_s=None, extras={"restored_s": None}),
            event("a", "memory", "requests", timeline=(), points=GROWN, extras={"requests": 10**6, "parts_s": 120.3}),
            event("a", "balance", "8 pooled", extras={"workers": 2, "worst_share": 1.0, "connections_1": 64}),
        ],
    )
    build_verb(["--quiet", str(folder)])
    found = {line["event"]: line for line in map(json.loads, (folder / "verdicts.jsonl").read_text().splitlines())}
    assert found["killed"]["figures"] == {"restored_s": [0.3, None]} and found["killed"]["not_as_before"] == 1
    assert found["memory"]["growth"] == {"word": "grows", "mean": 100.0, "low": 100.0, "high": 100.0}
    assert found["balance"]["p_even"] == 1.0 and "growth" not in found["balance"]


def test_a_run_without_events_has_none_to_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_events(tmp_path / "a-run", [])
    build_verb(["--quiet", str(folder)])
    assert main(["export", "events-csv", str(folder)]) == 2
    assert "a-run has no events; their preset is bad-day" in capsys.readouterr().err


def test_comment_on_a_bad_day(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_verb(["--quiet", str(folder)])
    assert main(["pr-comment", str(folder), "--fail-on", "lost"]) == 1
    same_as(GOLDEN / "events_comment.md", capsys.readouterr().out)


@pytest.mark.parametrize(
    "records, policy, violated",
    [
        (releases(), "lost", 0),
        (releases()[::-1], "lost", 1),
        (releases((5, 4)), "lost", 0),
        (releases((5, 4)), "no-winner", 1),
        ([event(lost=1)], "lost", 1),
        ([event()], "lost", 0),
        ([event(happened=False)], "invalid", 1),
        ([cannot("waitress", "reload", "", "it has none")], "invalid", 0),
    ],
)
def test_policies_on_events(records: list[EventRecord], policy: str, violated: int, tmp_path: Path) -> None:
    events = describe_events(records, run_facts_of({"services": services_of(records)}))
    assert events
    comment = events_comment("a-run", events, [parse_policy(policy)])
    assert comment.violations == violated
    assert f"`--fail-on {policy}`: {f'failed, {violated} violation' if violated else 'passed'}" in comment.text


MEMORY = {"timeline": (), "extras": {"requests": 1_000_000}}
NOT_CHECKED = "1 comparison has no verdict and was not checked"
CHANGES: dict[str, tuple[list[int], list[int], int, str]] = {
    "the head loses more": ([0] * 5, [3, 5, 7, 4, 6], 1, "failed, 1 violation"),
    "the head loses less": ([3, 5, 7, 4, 6], [0] * 5, 0, "passed"),
    "both lose the same": ([3, 5, 7, 4, 6], [4, 6, 3, 5, 7], 0, f"passed; {NOT_CHECKED}"),
    "neither loses any": ([0] * 5, [0] * 5, 0, "passed"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("of", ["refs", "packages"])
def test_lost_of_two_refs_or_packages(of: str, change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is the script's. Requests lost in the memory event and other pairs are not judged."""
    base, head, status, words = CHANGES[change]
    records, facts = [], dict[str, Any]()
    for place, losses in enumerate((base, head)):
        of_refs = {"settings": Settings({"REF": "ab"[place]})}
        told = {"package": f"gunicorn=={26 + place}.0.0"} if of == "packages" else of_refs
        for name, case, lost in (("reload", "keep-alive", losses), ("memory", "requests", [9 * place] * 5)):
            more = MEMORY if name == "memory" else {}
            records += [
                replace(
                    event("gunicorn", name, case, round=number, lost=one, **told, **more), service=f"gunicorn-{place}"
                )
                for number, one in enumerate(lost, 1)
            ]
    if of == "refs":
        facts = {"refs": {"a": "1" * 40, "b": "2" * 40, "pairs": [["gunicorn-0", "gunicorn-1"]]}}
    folder = write_events(tmp_path / "a-run", records, **facts)
    build_verb(["--quiet", str(folder)])
    assert main(["pr-comment", str(folder), "--fail-on", "lost", "--fail-on", "invalid"]) == status
    said = capsys.readouterr().out
    assert f"`--fail-on lost`: {words}." in said and "`--fail-on invalid`: passed." in said
    assert "losses not compared: 1" in said


def test_lost_needs_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a-run"
    write_turns(folder)
    (folder / "records.jsonl").write_text("")
    assert main(["pr-comment", str(folder), "--fail-on", "lost"]) == 2
    assert "--fail-on lost needs events, and a-run has none" in capsys.readouterr().err

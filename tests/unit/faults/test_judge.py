"""The judge of a fault run finds everything that a kill may break: it gets an intact run, then one fault at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from built_runs import build
from event_runs import event, write_events
from make_run import entry, write_measured

from bench.records.event import Ended
from tests.faults.judge import judge, read_records, table

FACTS = {"number": "1", "subject": "script", "victim": "script", "phase": "load", "killed_ns": "5", "tried": "1"}
FACTS |= {"status": "137", "resumed": "0", "containers": "0", "networks": "0", "volumes": "0", "processes": "0"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines = [entry("aiohttp", number=1), entry("tornado", "db-raw", number=2)]
    build(write_measured(tmp_path, lines, 4000))
    (tmp_path / "first.jsonl").write_text((tmp_path / "records.jsonl").read_text())
    (tmp_path / "first.log").write_text("postgres ended during the run: started again\n")
    return tmp_path


def faults(run: Path, **facts: str) -> tuple[str, ...]:
    (run / "fault.txt").write_text("".join(f"{key} {value}\n" for key, value in (FACTS | facts).items()))
    return judge(run).faults


def lines_of(run: Path, name: str = "records.jsonl") -> list[str]:
    return (run / name).read_text().splitlines(keepends=True)


def write_lines(run: Path, *lines: str, name: str = "records.jsonl") -> None:
    (run / name).write_text("".join(lines))


def change(run: Path, index: int, name: str = "records.jsonl", **values: Any) -> None:
    lines = lines_of(run, name)
    lines[index] = json.dumps(json.loads(lines[index]) | values) + "\n"
    write_lines(run, *lines, name=name)


def test_a_whole_run_survived(run: Path) -> None:
    assert faults(run) == ()
    assert judge(run).line() == "1 script (script) in load: survived"


def _output(run: Path) -> None:
    meta = next(run.rglob("output.txt")).with_name("meta.json")
    digest = {"sha256": {"output.txt": "0" * 64}}
    meta.write_text(json.dumps(json.loads(meta.read_text()) | digest))


BROKEN = [
    (lambda run: write_lines(run, *lines_of(run), lines_of(run)[0]), "more than once in the records: r01-0001"),
    (lambda run: write_lines(run, lines_of(run)[0]), "without a record: r01-0002"),
    (lambda run: write_lines(run, lines_of(run)[0], lines_of(run)[1][:40]), "a record is no whole line"),
    (lambda run: change(run, 1, id="r09-0009"), "not planned: r09-0009"),
    (lambda run: next(run.rglob("meta.json")).write_text('{"outc'), "meta.json is not whole"),
    (_output, "output.txt is not what meta.json says"),
    (lambda run: os.truncate(run / "index.html", 5000), "no whole page"),
    (lambda run: change(run, 0, outcome="did not start"), "r01-0001 is not measured: did not start"),
]


@pytest.mark.parametrize(("harm", "words"), BROKEN)
def test_what_is_broken_in_the_run(run: Path, harm: Callable[[Path], object], words: str) -> None:
    harm(run)
    assert any(words in fault for fault in faults(run))


LEFT = [
    ({"containers": "2"}, "2 containers left"),
    ({"networks": "1"}, "1 networks left"),
    ({"processes": "1"}, "1 processes left"),
    ({"status": "0"}, "the script ended with status 0, not 137"),
    ({"subject": "hangup"}, "the script ended with status 137, not 130"),
    ({"resumed": "1 1 1"}, "--resume ended with 1 1 1"),
    ({"resumed": "1 0"}, "--resume had to be tried 2 times"),
    ({"resumed": ""}, "--resume ended with nothing"),
]


@pytest.mark.parametrize(("facts", "words"), LEFT)
def test_what_was_left_and_said(run: Path, facts: dict[str, str], words: str) -> None:
    assert any(words in fault for fault in faults(run, **facts))


def test_the_record_of_an_event_has_an_outcome_and_causes_as_that_of_a_window(tmp_path: Path) -> None:
    lost = {"ended": Ended.FAILED, "detail": "dependency ended: postgres ended during it", "sent": None, "fates": {}}
    starved, quiet = {"causes": ("the client was starved: 1 % left late",)}, "0 of 2 workers were replaced"
    write_events(tmp_path, [event(), event(**starved), event(happened=False, happened_by=quiet), event(**lost)])
    found = read_records(tmp_path / "records.jsonl", tmp_path / "events.jsonl")
    assert [(one["outcome"], one["valid"], one["causes"]) for one in found if one] == [
        ("measured", True, []),
        ("measured", False, [{"cause": "the client was starved", "detail": "1 % left late"}]),
        ("measured", False, [{"cause": "it did not happen", "detail": "0 of 2 workers were replaced"}]),
        ("dependency ended", False, [{"cause": "dependency ended", "detail": "postgres ended during it"}]),
    ]


DATABASE = {"subject": "postgres", "victim": "postgres", "status": "0"}


def test_a_window_in_whose_middle_its_database_was_killed_must_not_count(run: Path) -> None:
    records = [json.loads(line) for line in lines_of(run)]
    assert all(record["valid"] for record in records)
    plan = [json.loads(line) for line in lines_of(run, "plan.jsonl")]
    spans = [json.loads((run / line["dir"] / "tool.json").read_text()) for line in plan]
    inside, outside = str(spans[1]["start_ns"] + 1), str(spans[1]["end_ns"] + 10**12)
    assert faults(run, **DATABASE, killed_ns=outside) == ()
    assert faults(run, **DATABASE, killed_ns=inside) == ("r01-0002 counts, although postgres was killed in it",)
    causes = [{"cause": "x", "detail": "postgres"}]
    change(run, 1, "first.jsonl", valid=False, outcome="dependency ended", causes=causes)
    assert faults(run, **DATABASE, killed_ns=inside) == ()


def test_what_was_lost_in_the_call_that_was_hit_has_its_true_cause(run: Path) -> None:
    cause = [{"cause": "did not start", "detail": "no answer"}]
    change(run, 0, "first.jsonl", valid=False, outcome="did not start", causes=cause)
    assert any("lost for another cause" in fault for fault in faults(run, **DATABASE))
    (run / "first.log").write_text("")
    assert any("postgres is not named" in fault for fault in faults(run, **DATABASE))


def test_a_service_that_was_killed_may_stay_without_that_window(run: Path) -> None:
    service = json.loads(lines_of(run)[0])["service"]
    for name in ("records.jsonl", "first.jsonl"):
        change(run, 0, name, outcome="died", valid=False, causes=[{"cause": "died", "detail": "its container ended"}])
    (run / "first.log").write_text(f"{service} json: died: its container ended\n")
    facts = {"subject": "server", "status": "0"}
    assert faults(run, **facts, victim=service) == ()
    assert "is not measured: died" in faults(run, **facts, victim="another")[0]
    (run / "first.jsonl").write_text(lines_of(run)[1])
    assert faults(run, **facts, victim=service) == ()
    assert "the call that was hit: without a record" in " ".join(faults(run, **DATABASE))


def test_the_table_counts_what_was_tried(run: Path) -> None:
    survived = {"number": "1", "subject": "script", "phase": "load", "tried": True, "faults": []}
    broken, late = {"phase": "report", "faults": ["x"]}, {"subject": "postgres", "tried": False}
    assert table([survived, survived | broken, survived | late]) == (
        "| killed | load | report | all |\n| --- | ---: | ---: | ---: |\n| script | 1/1 | 0/1 | 1/2 |\n"
        "| all | 1/1 | 0/1 | 1/2 |\n\n2 moments tried, 1 survived; 1 came after what they were to hit had ended"
    )

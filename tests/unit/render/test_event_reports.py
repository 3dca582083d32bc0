"""The report of a run of events: report.md and the terminal as golden files, exports and the comment on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from event_runs import bad_day, services_of, write_events
from golden import same_as
from places import GOLDEN

from bench.cli.report import build_verb
from bench.records.file import read_events
from bench.render.report import Report
from bench.render.terminal import NARROWEST, terminal
from bench.run.reader import read_run
from bench.words.events import tell_events


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_events(tmp_path / "a-run", bad_day())


def test_report_of_a_bad_day(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build_verb([str(folder)]) == 0
    same_as(GOLDEN / "events.md", (folder / "report.md").read_text())
    same_as(GOLDEN / "events.txt", capsys.readouterr().err)


@pytest.mark.parametrize("width", [NARROWEST, 80, 120])
def test_no_line_is_wider_than_the_terminal(folder: Path, width: int) -> None:
    events = tell_events(read_events(folder), {"services": services_of(bad_day())})
    shown = terminal(Report(read_run(str(folder)), {}, [], (), {}, events=events), (), width)
    assert max(map(len, shown.splitlines())) <= width
    assert "never came back" in shown and "waitress" in shown


def test_a_line_for_each_cell_and_pair_in_verdicts(folder: Path) -> None:
    build_verb(["--quiet", str(folder)])
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    cells = [line for line in lines if line["kind"] == "event"]
    assert len(cells) == sum(len(row.cells) for row in tell_events(read_events(folder), {}).table.rows)  # type: ignore[union-attr]
    (gunicorn,) = [
        one for one in cells if (one["service"], one["case"]) == ("gunicorn-asgi-py313-debian", "keep-alive")
    ]
    assert (gunicorn["lost"], gunicorn["sent"], gunicorn["rounds"]) == (42, 7000, 7)
    assert gunicorn["words"] == "lost 42 of 7,000"
    (cannot,) = [one for one in cells if (one["service"], one["case"]) == ("waitress-asgi-py313-debian", "keep-alive")]
    assert (cannot["kind_of_cell"], cannot["rounds"]) == ("cannot", 0) and "lost" not in cannot

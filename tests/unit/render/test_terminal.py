"""The answer on the terminal: of the published quick run as a golden file, and what must never be printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from golden import same_as
from make_run import entry, write_measured
from places import GOLDEN, ROOT
from ranking_run import ERRORS, two_tables
from rated_tables import late_text, rated_text
from turns_runs import own_app_run

from bench.analysis.cells.latency import merged_latencies
from bench.analysis.findings import findings_of
from bench.cli.report import build_verb
from bench.export.judged_run import judge_run
from bench.render.in_turns import ranking_table
from bench.render.report import Report
from bench.render.terminal import NARROWEST, terminal
from bench.run.published import unpacked
from bench.words.conclusions import RankingText
from bench.words.own_app import own_app_choices

PUBLISHED = ROOT / "results/published"
Answer = tuple[Report, Sequence[RankingText]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published run of the quick preset, unpacked."""
    return unpacked(PUBLISHED / "quick", tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def answer(folder: Path) -> Answer:
    return answer_of(folder)


def answer_of(folder: Path) -> Answer:
    judged = judge_run(folder)
    source, services, records, rankings = judged.source, judged.services, judged.records, judged.rankings
    latencies = merged_latencies(source.path, [record for record in records if record.mode == "solo"])
    return Report(source, services, findings_of(records, source.facts, services), rankings, latencies), rankings


def test_answer_of_two_knobs(tmp_path: Path) -> None:
    same_as(GOLDEN / "terminal_grid.txt", terminal(*answer_of(unpacked(PUBLISHED / "workers", tmp_path))))


def test_answer_of_the_quick_preset(answer: Answer) -> None:
    same_as(GOLDEN / "terminal.txt", terminal(*answer))


def test_what_to_run_can_be_pasted_from_the_terminal() -> None:
    facts, ranking, services = own_app_run(app="a_package.with_a_long_name.application:application")
    chosen = own_app_choices(facts, [ranking], services)
    empty = {"events": None, "own_app": (), "conclusions": (), "knees": (), "advice": (), "condition": "Here."}
    report = cast(Report, SimpleNamespace(own_app_choices=chosen, **empty))
    text = terminal(report, [ranking])
    same_as(GOLDEN / "terminal-own-app.txt", text)
    pasted = text.replace("\\\n", "")
    for choice in chosen[0].choices:
        for command in (*choice.commands, choice.other_numbers):
            words = shlex.split(command)
            assert words in [shlex.split(line) for line in pasted.splitlines() if line.startswith(command[:12])]


@pytest.mark.parametrize("width", [20, NARROWEST, 80, 120])
def test_no_line_is_wider_than_the_terminal(answer: Answer, width: int) -> None:
    lines = terminal(*answer, width).splitlines()
    assert max(map(len, lines)) <= max(width, NARROWEST)
    assert any("bjoern-wsgi" in line for line in lines)


def test_an_upper_bound_is_shown_as_one(answer: Answer) -> None:
    report, _ = answer
    assert "≤3.50" in terminal(report, [late_text()])
    assert "| ≤ 3.50 ms |" in ranking_table(late_text()).markdown()


def test_latency_beside_speed_cost_and_memory(answer: Answer) -> None:
    report, _ = answer
    shown = terminal(report, [rated_text()])
    same_as(GOLDEN / "terminal-latency.txt", shown)
    assert max(map(len, shown.splitlines())) <= 80


def test_a_service_without_a_figure_has_its_reason(answer: Answer) -> None:
    shown = terminal(answer[0], two_tables()[1:], 120)
    assert f"werkzeug-flask: {ERRORS}" in shown


def test_colors_only_where_they_are_wanted(answer: Answer) -> None:
    assert "\x1b[" in terminal(*answer, colors=True)
    assert "\x1b" not in terminal(*answer)


def test_text_of_a_service_moves_no_cursor(answer: Answer) -> None:
    report, rankings = answer
    hostile = replace(rankings[0], sentences=("\x1b[2J gone", *rankings[0].sentences[1:]))
    shown = terminal(report, [hostile])
    assert "\x1b" not in shown
    assert "⟨U+001B⟩[2J gone" in shown


def test_nothing_is_called_equal_before_the_first_look(answer: Answer) -> None:
    report, (_, text, *_) = answer
    rows = tuple(replace(row, tier=None) for row in text.ranking.rows)
    early = replace(text, ranking=replace(text.ranking, look=None, rows=rows), sentences=("Not enough data.",))
    assert "equal (" not in terminal(report, [early])
    assert "equal (" in terminal(report, [text])


def test_build_prints_it_unless_quiet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_verb([str(folder)])
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", (GOLDEN / "terminal.txt").read_text())
    build_verb(["--quiet", str(folder)])
    assert capsys.readouterr().err == ""


def test_a_service_that_is_measured_alone_has_its_figures(tmp_path: Path) -> None:
    line = entry("aiohttp", level="c16")
    text = terminal(*answer_of(write_measured(tmp_path / "alone", [line], 4000.0)))
    words = re.sub(r"\s+", " ", text)
    assert "json, measured alone" in words and "service tool level requests/s CPU/request p50 p99" in words
    assert re.search(r"aiohttp\S* wrk c16 4,000 ", words), text
    assert "more rounds" not in words and "equal (" not in words

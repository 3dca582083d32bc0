"""The next step: when a loop begins, how it ends, and its progress on a terminal and in a log."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from captured import Capture, refused
from loop_engine import LoopEngine, loop, outcomes
from loop_runs import make_loop, solo

from driver.docker import Done
from driver.failure import Failure
from driver.steps import next as verb
from driver.steps.next import next_step

FIRST = "[1/2] aiohttp-py313-debian json wrk c64: 3,000 requests/s; 0 not valid, "
UP_S = 1000


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LoopEngine:
    make_loop(tmp_path, [solo("aiohttp", 1), solo("tornado", 2)], [3000, 9999])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verb, "PROC", tmp_path)
    up(tmp_path, UP_S)
    for name in ("BENCH_QUIET", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("BENCH_BEGAN", f"{UP_S}00")
    return LoopEngine(tmp_path)


def up(root: Path, seconds: float) -> None:
    """Set the machine's uptime."""
    (root / "uptime").write_text(f"{seconds:.2f} 5.00\n")


def asked(engine: LoopEngine) -> list[str]:
    return [call.removeprefix("bench next a-run --elapsed ") for call in engine.calls("bench")]


def test_planner_is_asked_once_between_two_loads(engine: LoopEngine, tmp_path: Path, capsys: Capture) -> None:
    engine.when["start"] = lambda: up(tmp_path, UP_S + 7.98)
    assert loop(engine) == 3 and asked(engine) == ["0 --begin", "7", "7"]
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(FIRST) and second.startswith("[2/2] tornado-py313-debian json wrk c64: invalid: ")
    # This call leaves no files of the loop, and another call does not know what this one did.
    assert sorted(path.name for path in (tmp_path / "results/a-run").iterdir()) == ["plan.jsonl", "raw", "run.json"]
    assert loop(engine) == 3
    assert asked(engine)[3:] == ["7 --begin"] and capsys.readouterr().err == ""


def test_killed_loop_begins_again(engine: LoopEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert next_step(engine, "60") == 0
    up(tmp_path, UP_S + 100)
    monkeypatch.setenv("BENCH_BEGAN", f"{UP_S + 100}00")
    assert loop(engine) == 3 and asked(engine)[:2] == ["0 --begin --max-time 60", "0 --begin"]
    assert [outcome for outcome, _ in outcomes(tmp_path)] == ["measured"] * 2


def test_the_planner_is_told_how_many_pairs_of_nodes_there_are(engine: LoopEngine, tmp_path: Path) -> None:
    (tmp_path / "results/a-run/lanes.tsv").write_text("1\t198.18.0.0/25\t0\n2\t198.18.0.128/25\t0\n")
    engine.said = {"next": (3, "")}
    assert next_step(engine) == 3 and asked(engine)[0] == "0 --begin --lanes 2"


def test_failing_planner_stops_the_run_and_keeps_the_step(engine: LoopEngine, tmp_path: Path) -> None:
    for status in (1, 2, 125, 137):
        engine.said = {"next": (status, "bench: the plan cannot be read")}
        with pytest.raises(Failure, match="the next step cannot be decided: bench: the plan cannot be read"):
            loop(engine)
    engine.said = {}
    engine.when["stop"] = lambda: engine.said.update(next=(2, "no"))
    with pytest.raises(Failure):
        loop(engine)
    engine.said, engine.when = {}, {}
    (tmp_path / "results/a-run/loop-call.json").unlink()
    assert loop(engine) == 3 and len(engine.calls("start")) == 2


def test_a_planner_that_was_killed_with_the_load_generator_begins_again_three_times(engine: LoopEngine) -> None:
    engine.said, engine.dead = {"next": (137, "")}, {"loadgen"}
    engine.when["bench"] = lambda: engine.said.clear() if len(engine.calls("bench")) == 3 else None
    assert next_step(engine) == 0 and asked(engine) == ["0 --begin"] * 3
    engine.said, engine.when = {"next": (137, "")}, {}
    assert "the next step cannot be decided" in refused(Failure, next_step, engine).words
    # Two restarts before, this is the third.
    assert asked(engine)[3:] == ["0", "0 --begin"]


def test_a_planner_that_was_killed_while_it_waited_begins_again(engine: LoopEngine, tmp_path: Path) -> None:
    killed, start = [Done(137, "", "")], engine.start_bench
    engine.start_bench = lambda *to: (lambda _: killed.pop()) if killed else start(*to)  # type: ignore[method-assign]
    engine.dead = {"loadgen"}
    assert loop(engine, "60") == 3
    assert asked(engine) == ["0 --begin --max-time 60", "0 --begin --max-time 60", "0"]
    assert len(engine.calls("start")) == len(outcomes(tmp_path)) == 2


def test_time_limit(engine: LoopEngine, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.when["start"] = lambda: up(tmp_path, UP_S + 61)
    monkeypatch.setenv("BENCH_QUIET", "1")
    assert loop(engine, "60") == 4
    said = "the time is up (--max-time): the report says what is missing; resume with --resume a-run\n"
    assert capsys.readouterr().err == said
    assert outcomes(tmp_path) == [("measured", "")] and len(engine.calls("start")) == 1


def test_unknown_start_of_the_script(engine: LoopEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_BEGAN")
    assert "BENCH_BEGAN" in refused(Failure, next_step, engine).words


def on_terminal(monkeypatch: pytest.MonkeyPatch, columns: int = 80) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    monkeypatch.setattr(sys.stderr, "fileno", lambda: 2)


def test_redrawn_line_on_a_terminal(engine: LoopEngine, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    on_terminal(monkeypatch)
    assert loop(engine) == 3 and asked(engine)[0].endswith("--begin --columns 80 --colour")
    drawn = capsys.readouterr().err
    first = "[0/2] 0:20 left, 0 not valid | now aiohttp-py313-debian json wrk c64"
    assert drawn.startswith(f"\r\033[K{first}\r\033[K[1/2] ")
    assert drawn.count("\n") == 1 and drawn.endswith("\n") and "\033[31m1 not valid\033[0m" in drawn


def test_narrow_terminal(engine: LoopEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    on_terminal(monkeypatch, 40)
    monkeypatch.setenv("NO_COLOR", "1")
    engine.when["start"] = lambda: up(tmp_path, UP_S + 61)
    assert loop(engine, "60") == 4 and asked(engine)[1] == "61 --columns 40"
    drawn = capsys.readouterr().err
    assert max(map(len, drawn.partition("the time")[0].replace("\r", "").split("\033[K"))) == 39
    assert "\r\033[Kthe time is up (--max-time)" in drawn and drawn.count("\n") == 1


@pytest.mark.parametrize("name", ["TERM", "BENCH_QUIET"])
def test_dumb_and_quiet(name: str, engine: LoopEngine, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    on_terminal(monkeypatch)
    monkeypatch.setenv(name, "dumb")
    assert loop(engine) == 3
    said = capsys.readouterr().err
    assert said == "" if name == "BENCH_QUIET" else said.startswith(FIRST) and "\033" not in said

"""loadgen/measure as a command: verbs, exit statuses, and one line if it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from captured import Capture
from loop_runs import one_step
from make_run import entry
from places import ROOT

from bench.cli import measure as measure_module
from bench.cli.measure import main
from bench.schedule.step_file import write_step

LINE = entry(timeout_s=2, path="/json", dir="raw/cell", duration_s=1)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_step(tmp_path, one_step([LINE]))
    monkeypatch.delenv("BENCH_DEBUG", raising=False)
    return tmp_path


def status_of(monkeypatch: pytest.MonkeyPatch, *argv: str) -> int:
    monkeypatch.setattr(sys, "argv", ["measure", *argv])
    return main()


def test_the_help_and_wrong_usage(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert status_of(monkeypatch, "--help") == 0
    assert "usage: measure VERB RUN_DIR [LOAD_NAME]" in capsys.readouterr().out
    for argv, words in {
        "": "unknown verb ''",
        "load x": "unknown verb 'load': command, prepare or run (measure --help)",
        **dict.fromkeys(("run", "run a b c"), "usage: measure run RUN_DIR [LOAD_NAME]"),
        f"run {run}/none": f"no readable step file at {run}/none/step.json",
        f"run {run} x": f"{run}/step.json has no load x",
    }.items():
        assert status_of(monkeypatch, *argv.split()) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"measure: {words}") and error.count("\n") == 1


def test_the_words_of_a_command_line(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert status_of(monkeypatch, "command", str(run)) == 0
    assert capsys.readouterr().out.startswith("wrk -t 1 -c 64 -d 1s ")


def test_an_unexpected_failure_and_ctrl_c(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("bench.load.verbs.prepare", Mock(side_effect=OSError(5, "it is broken", "/x")))
    assert status_of(monkeypatch, "prepare", str(run)) == 1
    error = capsys.readouterr().err
    assert error.startswith("measure: ") and error.endswith("OSError: [Errno 5] it is broken: '/x'\n")
    monkeypatch.setattr("bench.load.verbs.prepare", Mock(side_effect=KeyboardInterrupt))
    assert status_of(monkeypatch, "prepare", str(run)) == 130


def test_no_more_is_loaded_than_a_load_needs() -> None:
    """It starts between two loads, so it must be fast."""
    names = "import sys, bench.cli.measure, bench.load.verbs, bench.load.save, bench.load.answers; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", names], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    needless = {"argparse", "random", "scipy", "bench.plan.events", "bench.plan.cells", "bench.matrix", "bench.records"}
    assert not loaded & needless
    assert len([name for name in loaded if name.startswith("bench.")]) <= 41
    assert measure_module.__doc__

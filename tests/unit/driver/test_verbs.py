"""Verbs of the driver as the scripts call them, on fake containers; how they fail; the end of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from captured import Capture, Patch, refused
from loop_engine import outcomes
from loop_runs import block, make_loop, solo
from places import ROOT
from pretend_engine import PretendEngine, made_run, pretend_docker
from waiting import until

from driver import __main__ as verbs
from driver.docker import DockerError, Done
from driver.failure import RUN, USER, Failure
from driver.lifecycle.begin import write_report
from driver.messages import MessageError

NAMES = tuple(f"{stack}-py313-debian" for stack in ("aiohttp", "tornado"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_loop(tmp_path, [*block(1, ("aiohttp", "tornado")), solo("aiohttp", 9)], [3000, 4000, 3000])
    (tmp_path / "results/a-run/compose.yml").write_text("services: {}\n")
    docker = {"BENCH_DOCKER": str(ROOT / "tests/support/fake_docker"), "PROJECT": str(ROOT), "FAKE": str(tmp_path)}
    run = {"BENCH_ROOT": str(tmp_path), "BENCH_PROJECT": "bench-a-run", "BENCH_BEGAN": "0", "PYTHONPATH": str(ROOT)}
    for name, value in (docker | run | {"BENCH_ENGINE_KIND": "docker", "SERVER_CPUS": "0", "SEED": "1"}).items():
        monkeypatch.setenv(name, value)


def begin(verb: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "driver", verb, "a-run"], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def do(verb: str) -> tuple[int, str]:
    with begin(verb) as process:
        return process.wait(), process.communicate()[1]


def calls(root: Path) -> list[str]:
    text = (root / "calls").read_text().replace("bench-a-run-", "").replace("-1 ", " ").replace("-1\n", "\n")
    return [
        line for line in text.splitlines() if not line.startswith("inspect") and "python3 -m bench next" not in line
    ]


@pytest.mark.usefixtures("project")
def test_the_loop_starts_loads_and_removes_and_tells_the_planner(tmp_path: Path) -> None:
    done = [do("next"), do("measure"), do("measure")]
    assert [status for status, _ in done] == [0, 0, 3]
    assert [words[:6] for _, words in done] == ["", "[1/2] ", "[2/2] "] and outcomes(tmp_path) == [("measured", "")] * 3
    compose = f"compose --project-name bench-a-run --file {tmp_path}/results/a-run/compose.yml"
    fresh = "up --detach --no-deps --no-build --force-recreate --timeout 0"
    both, block = " ".join(NAMES), f"--file {tmp_path}/results/a-run/block.yml"
    prepare, run = (f"exec loadgen loadgen/measure {verb} results/a-run" for verb in ("prepare", "run"))
    restore, remove = "exec postgres /usr/local/bin/restore", "rm --force --volumes"
    up, pin = f"{compose} {block} {fresh} {both} loadgen", f"update --cpuset-cpus 0 {both}"
    assert calls(tmp_path) == [
        *(restore, up, prepare, pin, run, f"{remove} {both}"),
        *(restore, f"{compose} {fresh} {NAMES[0]} loadgen", prepare, run, f"{remove} {NAMES[0]}"),
    ]


@pytest.mark.usefixtures("project")
def test_a_planner_that_fails_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "next-fails").write_text("2")
    assert do("next") == (1, "next: the next step cannot be decided: bench: the plan cannot be read\n")


@pytest.mark.usefixtures("project")
def test_a_planner_that_is_never_told_ends_by_itself(tmp_path: Path) -> None:
    assert do("next")[0] == 0
    (tmp_path / "results/a-run/finished.json").mkdir()
    assert do("measure")[0] == 1
    assert "exec --interactive bench-a-run-loadgen-1 python3 -m bench next" in (tmp_path / "calls").read_text()
    until(lambda: "bench next a-run" not in subprocess.check_output(["ps", "-eo", "args"], text=True))


@pytest.mark.usefixtures("project")
def test_interrupted_step_is_measured_on_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hangs").write_text("r01-b1\n")
    assert do("next")[0] == 0
    with begin("measure") as process:
        until(lambda: (tmp_path / "calls").exists() and "measure run" in (tmp_path / "calls").read_text())
        os.kill(process.pid, signal.SIGINT)
        assert process.wait() == 130
    assert outcomes(tmp_path) == [] and not (tmp_path / "results/a-run/finished.json").exists()
    # Files that it left are not trusted.
    left = tmp_path / "results/a-run/raw/r01/b1/json/wrk-c16/w1" / NAMES[1] / "tool.json"
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    (tmp_path / "hangs").unlink()
    (tmp_path / "silent").write_text(f"{NAMES[1]}\n")
    monkeypatch.setenv("BENCH_BEGAN", "1")
    assert (do("next")[0], do("measure")[0]) == (0, 0)
    assert [outcome for outcome, _ in outcomes(tmp_path)] == ["measured", "did not start"] and not left.exists()


EXPORTED = {
    "--width 120 --colors": {"COLUMNS": "300", "TERM": "xterm"},
    "--width 80": {"COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"},
    "--width 100": {"COLUMNS": "100", "TERM": "dumb"},
    "--quiet": {"COLUMNS": "80", "BENCH_QUIET": "1"},
}


@pytest.mark.parametrize("how", EXPORTED)
def test_answer_is_printed_for_the_terminal(how: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    for name in ("NO_COLOR", "BENCH_QUIET"):
        monkeypatch.delenv(name, raising=False)
    for name, value in EXPORTED[how].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    engine = PretendEngine(made_run(tmp_path, "a"))
    engine.said[f"build {how} results/a-run"] = Done(0, "", "the answer\n")
    write_report(engine)
    path = "" if how == "--quiet" else "results/a-run/index.html\n"
    assert capsys.readouterr() == ("results/a-run/report.md\n", f"the answer\n{path}")


def test_a_run_without_a_measurement_has_failed_after_its_report(tmp_path: Path, capsys: Capture) -> None:
    engine = PretendEngine(made_run(tmp_path, "a"))
    engine.said["nothing-measured a-run"] = Done(0, "no service could be measured\n", "")
    assert refused(Failure, write_report, engine) == Failure(RUN, "no service could be measured")
    assert capsys.readouterr().out == "results/a-run/report.md\n"


def test_report_inside_docker_compose(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_ENGINE", "composed")
    monkeypatch.setenv("COLUMNS", "80")
    engine = PretendEngine(made_run(tmp_path, "a"))
    write_report(engine)
    words = "results/a-run/index.html, report.md (docker-compose down ends the services)\n"
    assert capsys.readouterr() == ("", words) and engine.calls() == ["build --width 80 results/a-run"]


def status_of_one_that_raises(error: Exception, monkeypatch: pytest.MonkeyPatch) -> int:
    """The status of a verb of scripts/matrix.sh."""

    def fails(argv: list[str]) -> int:
        raise error

    monkeypatch.setattr(verbs, "heed_signals", lambda: None)
    monkeypatch.setattr("driver.services.build.main", fails)
    monkeypatch.setenv("BENCH_SCRIPT", "matrix.sh")
    return verbs.main(["build", "a-run"])


GONE = "the Docker daemon does not answer any more: start it (systemctl start docker)"


FAILED = (
    (Failure(USER, "fix it"), USER, "fix it"),
    (Failure(RUN, "it failed"), RUN, "it failed; goes on"),
    (MessageError("of another version"), USER, "of another version"),
    (DockerError("no such container"), RUN, "no such container; goes on"),
    (DockerError("no such container"), RUN, f"{GONE}; goes on"),
)


@pytest.mark.parametrize("case", FAILED)
def test_failed_verb_is_one_line(tmp_path: Path, capsys: Capture, monkeypatch: Patch, case: Any) -> None:
    error, status, words = case
    pretend_docker(tmp_path, monkeypatch, f"exit {int(GONE in words)}")
    monkeypatch.setenv("BENCH_NOTE", "goes on")
    assert status_of_one_that_raises(error, monkeypatch) == status
    assert capsys.readouterr().err == f"matrix.sh: {words}\n"


def test_unexpected_error_is_one_line_with_its_place(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_NOTE", raising=False)
    monkeypatch.delenv("BENCH_DEBUG", raising=False)
    error = OSError(28, "No space left on device", "finished.json")
    assert status_of_one_that_raises(error, monkeypatch) == RUN
    said = capsys.readouterr().err
    assert said.startswith("matrix.sh: [Errno 28] No space left on device: 'finished.json' at ")
    assert f"{Path(__file__).name}:" in said and said.count("\n") == 1

"""The end of a run, and how a verb fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from pretend_engine import PretendEngine, made_run, pretend_docker

from driver import __main__ as verbs
from driver.docker import DockerError, Done
from driver.failure import RUN, USER, Failure
from driver.lifecycle.report import write_report
from driver.messages import MessageError


def test_the_report_is_built_and_its_place_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = PretendEngine(made_run(tmp_path, "a"))
    engine.said["build results/a-run"] = Done(0, "", "What would help: more rounds\n")
    write_report(engine)
    said = capsys.readouterr()
    assert said.out == "results/a-run/report.md\n"
    assert said.err == "What would help: more rounds\nresults/a-run/index.html\n"


def test_a_run_without_a_measurement_has_failed_after_its_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = PretendEngine(made_run(tmp_path, "a"))
    engine.said["nothing-measured a-run"] = Done(0, "no service could be measured\n", "")
    with pytest.raises(Failure) as failed:
        write_report(engine)
    assert failed.value == Failure(RUN, "no service could be measured")
    assert capsys.readouterr().out == "results/a-run/report.md\n"


def test_inside_docker_compose_it_is_said_how_services_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_ENGINE", "composed")
    engine = PretendEngine(made_run(tmp_path, "a"))
    write_report(engine)
    said = capsys.readouterr()
    words = "results/a-run/index.html, report.md (docker-compose down ends the services)\n"
    assert (said.out, said.err, engine.calls()) == ("", words, ["build results/a-run"])


GONE = "the Docker daemon does not answer any more: start it (systemctl start docker)"


@pytest.mark.parametrize(
    "case",
    [
        (Failure(USER, "fix it"), 0, USER, "fix it"),
        (Failure(RUN, "it failed"), 0, RUN, "it failed; goes on"),
        (MessageError("of another version"), 0, USER, "of another version"),
        (DockerError("no such container"), 0, RUN, "no such container; goes on"),
        (DockerError("no such container"), 1, RUN, f"{GONE}; goes on"),
    ],
)
def test_a_verb_fails_with_one_line_by_the_name_of_the_script(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[Exception, int, int, str],
) -> None:
    error, answers, status, words = case

    def fails(argv: list[str]) -> int:
        raise error

    pretend_docker(tmp_path, monkeypatch, f"exit {answers}")
    monkeypatch.setattr(verbs, "heed_signals", lambda: None)
    monkeypatch.setattr("driver.services.build.main", fails)
    monkeypatch.setenv("BENCH_SCRIPT", "matrix.sh")
    monkeypatch.setenv("BENCH_NOTE", "goes on")
    assert verbs.main(["build", "a-run"]) == status
    assert capsys.readouterr().err == f"matrix.sh: {words}\n"


def test_what_nobody_expected_is_one_line_too_that_names_its_place(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(argv: list[str]) -> int:
        raise OSError(28, "No space left on device", "finished.json")

    monkeypatch.setattr(verbs, "heed_signals", lambda: None)
    monkeypatch.setattr("driver.services.build.main", fails)
    monkeypatch.delenv("BENCH_NOTE", raising=False)
    monkeypatch.delenv("BENCH_DEBUG", raising=False)
    monkeypatch.setenv("BENCH_SCRIPT", "matrix.sh")
    assert verbs.main(["build", "a-run"]) == RUN
    said = capsys.readouterr().err
    assert said.startswith("matrix.sh: [Errno 28] No space left on device: 'finished.json' at ")
    assert f"{Path(__file__).name}:" in said and said.count("\n") == 1

"""A run's checks as lines, a table of what fails, and JUnit's XML."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.cli.verify import summary_verb

GOOD = {"route": "json", "check": "Status", "ok": True, "expected": None, "got": None, "seconds": 0.25}
BAD = GOOD | {"ok": False, "check": "Body", "expected": "<a>", "got": 'b"\x00\ud800\u202e'}


def make_run(folder: Path, services: dict[str, tuple[list[object] | None, dict[str, str] | None]]) -> Path:
    """A run folder with, for each service, what verify.json and failure.json hold (None: no such file)."""
    folder.mkdir()
    (folder / "plan.jsonl").write_text("")
    (folder / "run.json").write_text(json.dumps({"services": dict.fromkeys(services)}))
    for name, (checks, failure) in services.items():
        own = folder / "raw/services" / name
        own.mkdir(parents=True)
        if checks is not None:
            (own / "verify.json").write_text(json.dumps({"checks": checks}))
        if failure is not None:
            (own / "failure.json").write_text(json.dumps(failure))
    return folder


FAILED = {"outcome": "failed verification", "detail": "not ok - json Body"}
UNBUILT = {"outcome": "build failed", "detail": "no such package"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One service that passes, one whose body is wrong, one without an image, one that was never reached."""
    services = {"fine": ([GOOD], None), "liar": ([GOOD, BAD], FAILED), "unbuilt": (None, UNBUILT), "cut": (None, None)}
    return make_run(tmp_path / "run", services)


def test_all_that_passes_is_status_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path / "run", {"fine": ([GOOD], None)})
    assert summary_verb([str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == ["# fine", "ok - json Status", "1 passed, 0 failed"]


def test_what_fails_is_status_1_and_a_table(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert summary_verb([str(run), "--quiet"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "# liar",
        'not ok - json Body: expected <a>, got b"\\x00\\ud800\\u202e',
        "# unbuilt",
        "not ok - build failed: no such package",
        "# cut",
        "not ok - not verified",
        "service  failed  first failure",
        "liar     1 of 2  failed verification: not ok - json Body",
        "unbuilt  0 of 0  build failed: no such package",
        "cut      0 of 0  not verified",
        f"services: 1 passed, 3 failed (checks: {run}/junit.xml)",
    ]


def test_a_failed_check_without_a_failure_file_fails_the_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path / "run", {"liar": ([GOOD, BAD | {"got": "<b>"}, BAD | {"check": "Last"}], None)})
    assert summary_verb([str(folder), "--quiet"]) == 1
    assert "2 of 3  failed verification: not ok - json Body: expected <a>, got <b>" in capsys.readouterr().out


def test_skipped_cells_are_counted_by_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_run(tmp_path / "run", {"fine": ([GOOD], None)})
    skipped = [{"cause": "not offered"}, {"cause": "not offered"}, {"cause": "no image"}]
    (folder / "run.json").write_text(json.dumps({"services": {"fine": None}, "skipped": skipped}))
    assert summary_verb([str(folder), "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == ["skipped: 2 (not offered)", "skipped: 1 (no image)"]


def test_junit_counts_every_check_and_what_was_never_reached(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary_verb([str(run)])
    suites = {suite.attrib["name"]: suite for suite in ElementTree.parse(run / "junit.xml").getroot()}
    counts = {name: tuple(s.attrib[key] for key in ("tests", "failures", "errors")) for name, s in suites.items()}
    assert counts == {
        "fine": ("1", "0", "0"),
        "liar": ("2", "1", "0"),
        "unbuilt": ("1", "0", "1"),
        "cut": ("1", "0", "1"),
    }
    assert suites["liar"].attrib["time"] == "0.500"
    (message,) = (failure.attrib["message"] for failure in suites["liar"].iter("failure"))
    assert message == 'not ok - json Body: expected <a>, got b"\\x00\\ud800\\u202e'
    (error,) = (error.attrib["message"] for error in suites["unbuilt"].iter("error"))
    assert error == "build failed: no such package"


@pytest.mark.parametrize(("status", "ended"), [(0, True), (143, True), (137, False), (1, False)])
def test_how_a_service_ended_is_one_more_check(
    status: int, ended: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(tmp_path / "run", {"fine": ([GOOD], None)})
    stop = {"exit_status": status, "tries": 3, "begin_ns": 1_000_000_000, "end_ns": 3_500_000_000}
    (folder / "raw/services/fine/stop.json").write_text(json.dumps(stop))
    assert summary_verb([str(folder)]) == (0 if ended else 1)
    out = capsys.readouterr().out
    assert ("not ok - stop Ends within 10 s of SIGTERM" in out) is not ended
    assert (f"got {status}, 3 times" in out) is not ended
    suite = next(iter(ElementTree.parse(folder / "junit.xml").getroot()))
    assert suite.attrib["tests"] == "2"
    assert suite.attrib["time"] == "2.750"

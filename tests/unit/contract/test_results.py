"""A run's checks as lines, a table of failures, and JUnit XML; sockets compared with the table of own binds."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from captured import Capture, printed
from make_plans import MATRIX
from places import ROOT
from tables import rows

from bench.cli.verify import summary_verb
from bench.contract.results import Skipped, compare
from bench.contract.sockets import OPTIONS
from bench.contract.verify import Outcome
from bench.core.errors import UserError
from bench.matrix.listeners import LISTENERS, load_listeners, parse_listeners, with_own

GOOD = {"route": "json", "check": "Status", "ok": True, "expected": None, "got": None, "seconds": 0.25}
BAD = GOOD | {"ok": False, "check": "Body", "expected": "<a>", "got": 'b"\x00\ud800\u202e'}


def make_run(folder: Path, services: dict[str, tuple[list[object] | None, dict[str, str] | None]]) -> Path:
    """A run's folder; for each service, the content of verify.json and failure.json (None: no such file)."""
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
    """A service that passes, one with a wrong body, one without an image, and one that was never reached."""
    services = {"fine": ([GOOD], None), "liar": ([GOOD, BAD], FAILED), "unbuilt": (None, UNBUILT), "cut": (None, None)}
    return make_run(tmp_path / "run", services)


@pytest.fixture
def fine(tmp_path: Path) -> Path:
    """A run of one service, which passes."""
    return make_run(tmp_path / "fine", {"fine": ([GOOD], None)})


def test_all_that_passes_is_status_0(fine: Path, capsys: Capture) -> None:
    said = printed(capsys, "summary", str(fine))
    assert said.splitlines()[:-1] == ["# fine", "ok - json Status", "1 passed, 0 failed"]


def test_what_fails_is_status_1_and_a_table(run: Path, capsys: Capture) -> None:
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


def test_a_failed_check_without_a_failure_file_fails_the_service(tmp_path: Path, capsys: Capture) -> None:
    folder = make_run(tmp_path / "run", {"liar": ([GOOD, BAD | {"got": "<b>"}, BAD | {"check": "Last"}], None)})
    assert summary_verb([str(folder), "--quiet"]) == 1
    assert "2 of 3  failed verification: not ok - json Body: expected <a>, got <b>" in capsys.readouterr().out


def test_skipped_cells_are_counted_by_cause(fine: Path, capsys: Capture) -> None:
    causes = ("not offered", "not offered", "no image")
    skipped = [{"service": "fine", "cause": cause} for cause in causes]
    (fine / "run.json").write_text(json.dumps({"services": {"fine": None}, "skipped": skipped}))
    said = printed(capsys, "summary", str(fine), "--quiet")
    assert said.splitlines()[:-1] == ["skipped: 2 (not offered)", "skipped: 1 (no image)"]


def test_junit_counts_every_check_and_what_was_never_reached(run: Path, capsys: Capture) -> None:
    summary_verb([str(run)])
    suites = {suite.attrib["name"]: suite for suite in ElementTree.parse(run / "junit.xml").getroot()}
    counts = {name: tuple(s.attrib[key] for key in ("tests", "failures", "errors")) for name, s in suites.items()}
    missing = ("1", "0", "1")
    known = {"fine": ("1", "0", "0"), "liar": ("2", "1", "0"), "unbuilt": missing, "cut": missing}
    assert counts == known and suites["liar"].attrib["time"] == "0.500"
    (message,) = (failure.attrib["message"] for failure in suites["liar"].iter("failure"))
    assert message == 'not ok - json Body: expected <a>, got b"\\x00\\ud800\\u202e'
    (error,) = (error.attrib["message"] for error in suites["unbuilt"].iter("error"))
    assert error == "build failed: no such package"


@pytest.mark.parametrize(("status", "ended"), [(0, True), (143, True), (137, False), (1, False)])
def test_how_a_service_ended_is_one_more_check(status: int, ended: bool, fine: Path, capsys: Capture) -> None:
    stop = {"exit_status": status, "tries": 3, "begin_ns": 1_000_000_000, "end_ns": 3_500_000_000}
    (fine / "raw/services/fine/stop.json").write_text(json.dumps(stop))
    assert summary_verb([str(fine)]) == (0 if ended else 1)
    out = capsys.readouterr().out
    for words in ("not ok - stop Ends within 10 s of SIGTERM", f"got {status}, 3 times"):
        assert (words in out) is not ended
    suite = next(iter(ElementTree.parse(fine / "junit.xml").getroot()))
    assert (suite.attrib["tests"], suite.attrib["time"]) == ("2", "2.750")


TABLE = Path(__file__).with_name("listeners.toml").read_text()
OWN = parse_listeners(TABLE)["plain"]
OURS = {"backlog": 2048, "nodelay": 1, "reuseport": 0}
SETTINGS = {"BACKLOG": "2048"}


def test_a_reason_may_be_one_of_several_workers_alone() -> None:
    own = parse_listeners(TABLE.replace("is = 0, why", "is = 0, several = true, why"))["plain"]
    assert [own.wanted(SETTINGS | {"WORKERS": workers})["reuseport"] for workers in "14"] == [1, 0]


DIFFERENCES = [
    ({"options": OURS}, None, None),
    ({"options": OURS | {"nodelay": 0}}, "nodelay 1", "nodelay 0"),
    ({"options": OURS | {"backlog": 5}}, "backlog 2048", "backlog 5"),
    ({"options": OURS | {"reuseport": 1}}, "reuseport 0", "reuseport 1"),
    ({"options": OURS | {"nodelay": 0, "backlog": 9}}, "backlog 2048, nodelay 1", "backlog 9, nodelay 0"),
    ({"options": {"backlog": 2048, "reuseport": 0}}, "nodelay 1", "nodelay None"),
    ({"fault": "no process has a listener"}, "a listener and a connection", "no process has a listener"),
]


@pytest.mark.parametrize(("read", "expected", "got"), DIFFERENCES)
def test_a_difference_without_a_reason_fails(read: dict[str, object], expected: str | None, got: str | None) -> None:
    found = compare(read, OWN, SETTINGS)
    assert isinstance(found, Outcome) and (found.ok, found.expected, found.got) == (got is None, expected, got)


def test_without_the_rights_and_without_an_own_bind_it_is_skipped_with_the_reason() -> None:
    assert compare({"unreadable": "no rights"}, OWN, SETTINGS) == Skipped("sockets", "no rights")
    missing = compare({"options": OURS}, None, SETTINGS)
    assert isinstance(missing, Skipped) and "not in services/listeners.toml" in missing.reason


def test_what_was_read_replaces_own_and_nothing_else() -> None:
    written = with_own(TABLE, {"other": {"backlog": 7, "nodelay": 0}})
    assert written == TABLE.replace("own = {}", "own = {backlog=7, nodelay=0}")
    assert with_own(TABLE, {}) == TABLE


@pytest.mark.parametrize(("before", "after"), rows(__file__, "faults"))
def test_a_fault_in_the_table_is_said(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / "listeners.toml").write_text(TABLE.replace(before, after))
    with pytest.raises(UserError, match="is not a valid table"):
        load_listeners(tmp_path / "listeners.toml")


def test_each_server_of_the_matrix_has_its_own_bind_with_every_option() -> None:
    table = load_listeners(ROOT / LISTENERS)
    assert sorted(table) == sorted(MATRIX.servers)
    assert {name: tuple(one.options) for name, one in table.items()} == dict.fromkeys(table, OPTIONS)


def test_each_reason_is_for_a_difference() -> None:
    for server, own in load_listeners(ROOT / LISTENERS).items():
        assert not [name for name, differs in own.differs.items() if own.options[name] == differs.is_], server


def service_run(folder: Path, sockets: dict[str, object], python: str = "3.13") -> Path:
    """A run with one verified service on cheroot, with these sockets."""
    make_run(folder, {"it": ([GOOD], None)})
    facts = {"services": {"it": {"server": "cheroot", "python": python}}, "knobs": SETTINGS}
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "raw/services/it/sockets.json").write_text(json.dumps(sockets))
    return folder


def cheroot() -> dict[str, int]:
    return load_listeners(ROOT / LISTENERS)["cheroot"].wanted(SETTINGS)


def test_the_summary_fails_a_service_whose_listener_lost_an_option(tmp_path: Path, capsys: Capture) -> None:
    said = printed(capsys, "summary", str(service_run(tmp_path / "good", {"options": cheroot()})))
    assert "ok - sockets Listener and connection have the options" in said
    lost = {"options": cheroot() | {"nodelay": 0, "accepted_nodelay": 0}}
    assert summary_verb([str(service_run(tmp_path / "lost", lost)), "--quiet"]) == 1
    words = capsys.readouterr().out
    assert "expected nodelay 1, accepted_nodelay 1, got nodelay 0, accepted_nodelay 0" in words


def test_the_summary_says_what_was_skipped_and_why(tmp_path: Path, capsys: Capture) -> None:
    run = service_run(tmp_path / "run", {"unreadable": "not permitted"})
    said = printed(capsys, "summary", str(run), "--quiet")
    assert "skip - sockets: not permitted (1 services)" in said
    assert '<skipped message="not permitted" />' in (run / "junit.xml").read_text()
    old = service_run(tmp_path / "old", {"options": {}}, python="3.9")
    said = printed(capsys, "summary", str(old), "--quiet")
    assert "skip - sockets: own binds were read on Python 3.13" in said

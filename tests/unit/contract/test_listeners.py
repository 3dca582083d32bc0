"""A service's sockets against its server's own bind, and the table of own binds itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from places import ROOT

from bench.cli.verify import summary_verb
from bench.contract.results import Skipped, compare
from bench.contract.sockets import OPTIONS
from bench.contract.verify import Outcome
from bench.core.errors import UserError
from bench.matrix.listeners import LISTENERS, load_listeners, parse_listeners, with_own
from bench.matrix.load import load_matrix

TABLE = """
[every]
backlog = { is = "$BACKLOG", why = "the same for all" }

[servers.plain]
start = "plain --port 8080"
own = { backlog = 5, nodelay = 1, reuseport = 1 }
# a comment stays
[servers.plain.ours]
reuseport = { is = 0, why = "one socket for all" }

[servers.other]
start = "other"
own = {}
"""
OWN = parse_listeners(TABLE)["plain"]
OURS = {"backlog": 2048, "nodelay": 1, "reuseport": 0}
SETTINGS = {"BACKLOG": "2048"}


def test_a_reason_may_be_one_of_several_workers_alone() -> None:
    text = TABLE.replace("is = 0, why", "is = 0, several = true, why")
    own = parse_listeners(text)["plain"]
    one, several = (own.wanted(SETTINGS | {"WORKERS": workers})["reuseport"] for workers in ("1", "4"))
    assert (one, several) == (1, 0)


def outcome(options: dict[str, int]) -> Outcome:
    found = compare({"options": options}, OWN, SETTINGS)
    assert isinstance(found, Outcome)
    return found


def test_what_is_as_written_down_passes() -> None:
    assert outcome(OURS).ok


@pytest.mark.parametrize(
    ("change", "expected", "got"),
    [
        ({"nodelay": 0}, "nodelay 1", "nodelay 0"),
        ({"backlog": 5}, "backlog 2048", "backlog 5"),
        ({"reuseport": 1}, "reuseport 0", "reuseport 1"),
        ({"nodelay": 0, "backlog": 128}, "backlog 2048, nodelay 1", "backlog 128, nodelay 0"),
    ],
)
def test_a_difference_without_a_reason_fails(change: dict[str, int], expected: str, got: str) -> None:
    found = outcome(OURS | change)
    assert (found.ok, found.expected, found.got) == (False, expected, got)


def test_an_option_that_was_not_read_fails() -> None:
    assert outcome({"backlog": 2048, "reuseport": 0}).got == "nodelay None"


def test_no_listener_fails() -> None:
    found = compare({"fault": "no process has a listener on port 8080"}, OWN, SETTINGS)
    assert isinstance(found, Outcome) and not found.ok and found.got == "no process has a listener on port 8080"


def test_without_the_rights_and_without_an_own_bind_it_is_skipped_with_the_reason() -> None:
    assert compare({"unreadable": "no rights"}, OWN, SETTINGS) == Skipped("sockets", "no rights")
    missing = compare({"options": OURS}, None, SETTINGS)
    assert isinstance(missing, Skipped) and "not in services/listeners.toml" in missing.reason


def test_what_was_read_replaces_own_and_nothing_else() -> None:
    written = with_own(TABLE, {"other": {"backlog": 7, "nodelay": 0}})
    assert written == TABLE.replace("own = {}", "own = { backlog = 7, nodelay = 0 }")
    assert with_own(TABLE, {}) == TABLE


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('why = "one socket for all"', 'why = " "'),
        ("reuseport = { is", "reuse_port = { is"),
        ("is = 0", "is = 0.5"),
        ("nodelay = 1,", 'nodelay = "on",'),
        ('start = "other"', ""),
        ("[every]", "[all]"),
    ],
)
def test_a_fault_in_the_table_is_said(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / "listeners.toml").write_text(TABLE.replace(before, after))
    with pytest.raises(UserError, match="is not a valid table"):
        load_listeners(tmp_path / "listeners.toml")


def test_each_server_of_the_matrix_has_its_own_bind_with_every_option() -> None:
    table = load_listeners(ROOT / LISTENERS)
    assert sorted(table) == sorted(load_matrix(ROOT / "services/matrix.toml").servers)
    assert {name: tuple(one.options) for name, one in table.items()} == dict.fromkeys(table, OPTIONS)


def test_each_reason_is_for_a_difference() -> None:
    needless = [
        f"{server} {option}"
        for server, one in load_listeners(ROOT / LISTENERS).items()
        for option, differs in one.differs.items()
        if one.options[option] == differs.is_
    ]
    assert needless == []


def service_run(folder: Path, sockets: dict[str, object], python: str = "3.13") -> Path:
    """A run with one verified cheroot, whose sockets are as given."""
    own = folder / "raw/services/it"
    own.mkdir(parents=True)
    (folder / "plan.jsonl").write_text("")
    facts = {"services": {"it": {"server": "cheroot", "python": python}}, "knobs": {"BACKLOG": "2048"}}
    (folder / "run.json").write_text(json.dumps(facts))
    check = {"route": "json", "check": "Status", "ok": True, "expected": None, "got": None, "seconds": 0.1}
    (own / "verify.json").write_text(json.dumps({"checks": [check]}))
    (own / "sockets.json").write_text(json.dumps(sockets))
    return folder


def cheroot() -> dict[str, int]:
    return load_listeners(ROOT / LISTENERS)["cheroot"].wanted(SETTINGS)


def test_the_summary_fails_a_service_whose_listener_lost_an_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert summary_verb([str(service_run(tmp_path / "good", {"options": cheroot()}))]) == 0
    assert "ok - sockets Listener and connection have the options" in capsys.readouterr().out
    lost = {"options": cheroot() | {"nodelay": 0, "accepted_nodelay": 0}}
    assert summary_verb([str(service_run(tmp_path / "lost", lost)), "--quiet"]) == 1
    words = capsys.readouterr().out
    assert "expected nodelay 1, accepted_nodelay 1, got nodelay 0, accepted_nodelay 0" in words


def test_the_summary_says_what_was_skipped_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    run = service_run(tmp_path / "run", {"unreadable": "not permitted"})
    assert summary_verb([str(run), "--quiet"]) == 0
    assert "skip - sockets: not permitted (1 services)" in capsys.readouterr().out
    assert '<skipped message="not permitted" />' in (run / "junit.xml").read_text()
    assert summary_verb([str(service_run(tmp_path / "old", {"options": {}}, python="3.9")), "--quiet"]) == 0
    assert "skip - sockets: own binds were read on Python 3.13" in capsys.readouterr().out

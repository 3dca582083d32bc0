"""The files of a load: the shape of tool.json, and exit statuses if something fails. Tools are shell scripts."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from captured import Patch, refused
from make_run import entry
from waiting import HANGS_S

from bench.exchange.kind import Response
from bench.load import save
from bench.load.failures import Failed, command_line, explained
from bench.load.save import run_and_save, tool_json
from bench.load.sockets import Traffic
from bench.load.task import Task, at_address, task_of
from bench.plan.measurement import planned_of
from bench.tools.tool import Command
from bench.tools.wrk import Wrk

PLANNED = planned_of(entry(timeout_s=2, path="/json", dir="raw/cell"))
Scripted = Callable[[str], Task]
"""Gives a load whose tool is this shell script."""


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Task]:
    """A load whose tool is a shell script."""
    monkeypatch.setattr(save, "ask", lambda _: Response("200", "0.001", ""))
    monkeypatch.setattr(Wrk, "version", lambda _: "4\ufffd")
    monkeypatch.setattr(Wrk, "refusal", lambda *_: None)

    def made(script: str) -> Task:
        monkeypatch.setattr(Wrk, "command", lambda *_: Command(("sh", "-c", script), "read é"))
        return task_of(str(tmp_path), PLANNED)

    return made


def told(one: Task) -> dict[str, Any]:
    return dict(json.loads((one.folder / "tool.json").read_text()))


def test_tool_json_has_every_key_with_the_type_that_its_readers_know(task: Callable[[str], Task]) -> None:
    one = task("cat; echo err >&2")
    run_and_save(one)
    assert sorted(os.listdir(one.folder)) == ["output.txt", "tool.json"]
    assert (one.folder / "output.txt").read_text() == "read é\nerr\n"
    text = (one.folder / "tool.json").read_text()
    assert text.endswith("}\n") and text.count("\n") == 1
    found = told(one)
    kinds = {
        "int": {"schema", "lead_requests", "start_ns", "end_ns", "exit_status", "elapsed_ns", "opened"},
        "str": {"tool", "tool_version", "stdin"},
        "list": {"argv"},
        "dict": {"limits", "sysctls", "before", "after", "waits", "health_after"},
    }
    assert {kind: {key for key, value in found.items() if type(value).__name__ == kind} for kind in kinds} == kinds
    assert found.keys() == set().union(*kinds.values())
    assert (found["schema"], found["tool"], found["tool_version"], found["stdin"]) == (1, "wrk", "4\ufffd", "read é")
    assert found["argv"] == ["sh", "-c", "cat; echo err >&2"]
    numbers = dict.fromkeys(("nofile", "cpus", "host_cpus"), int)
    assert {key: type(value) for key, value in found["limits"].items()} == numbers
    assert found["health_after"] == {"status": 200, "time_s": 0.001, "error": None}
    assert found["before"]["proc_stat"].startswith("cpu ")
    assert 0 < found["elapsed_ns"] <= found["end_ns"] - found["start_ns"] + 10**8


def test_what_is_not_known_is_null(task: Callable[[str], Task], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save, "ask", lambda _: Response("000", "", "curl: none"))
    monkeypatch.setattr(Wrk, "version", lambda _: "")
    one = task("true")
    run_and_save(one)
    health = {"status": None, "time_s": None, "error": "curl: none"}
    assert (told(one)["tool_version"], told(one)["health_after"]) == (None, health)
    assert b'"stdin":null' in tool_json({}, tool="wrk", version="", argv=("wrk",), stdin="")


def test_it_is_written_into_the_room_that_was_taken_before(task: Scripted, monkeypatch: Patch) -> None:
    one = task("ls -i .tool.json.tmp | cut -d' ' -f1; wc -c <.tool.json.tmp")
    one.folder.mkdir(parents=True)
    monkeypatch.chdir(one.folder)
    run_and_save(one)
    inode, size = (one.folder / "output.txt").read_text().split()
    assert (int(inode), int(size)) == ((one.folder / "tool.json").stat().st_ino, 65536)


FAILING = [
    ("echo half; echo 'it is out' >&2; exit 3", 3, "wrk ended with status 3: 'it is out'"),
    ("kill -KILL $$", 137, "wrk did not end within 300 s, and was killed: ''"),
    # SIGALRM is what `timeout` gets at the deadline; before it knows its child, it ends with status 143.
    ("echo 1; sleep 0.2; kill -ALRM $PPID; sleep 600", 124, "wrk did not end within 300 s, and was killed: '1'"),
]


@pytest.mark.parametrize(("script", "status", "words"), FAILING)
def test_a_tool_that_fails_leaves_output_and_status(script: str, status: int, words: str, task: Scripted) -> None:
    one = replace(task(script), deadline_s=HANGS_S)
    failed = refused(Failed, run_and_save, one)
    assert (failed.status, str(failed), told(one)["exit_status"]) == (12, words, status)


def test_the_connections_that_the_load_opened_are_counted(task: Scripted, monkeypatch: Patch) -> None:
    seen = iter((Traffic(100, 0), Traffic(116, 0)))
    monkeypatch.setattr(save, "traffic", lambda: next(seen))
    one = task(":")
    run_and_save(one)
    assert told(one)["opened"] == 16


def test_without_the_guard_there_is_no_load(task: Callable[[str], Task], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "wrk ended with status 127: 'timeout" in str(refused(Failed, run_and_save, task("true")))


ENDLESS = [
    "yes 'HTTP/1.1 200 a long status line'",
    "head -c 90000000 /dev/zero >&2",
    # One that ignores the signal, and does not see that it could not write.
    "trap '' XFSZ; yes 2>/dev/null; exit 0",
]


@pytest.mark.parametrize("script", ENDLESS)
def test_a_tool_that_prints_without_end_is_a_failed_load_and_leaves_little(script: str, task: Scripted) -> None:
    one = replace(task(script), deadline_s=60)
    failed = refused(Failed, run_and_save, one)
    words = "wrk printed 64 MiB, which is too much: it repeats responses"
    assert (failed.status, str(failed)) == (12, words)
    assert sum(file.stat().st_size for file in one.folder.iterdir()) < 200_000
    assert told(one)["exit_status"] == (0 if "trap" in script else 128 + signal.SIGXFSZ)


def test_results_of_an_open_loop_may_have_a_line_for_each_request(task: Callable[[str], Task]) -> None:
    load = replace(task("true").load, rate=100_000.0, duration_s=60.0)
    assert load.most_bytes == (64 << 20) + 256 * 6_000_000
    one = replace(task("head -c 80000000 /dev/zero"), load=load, deadline_s=60)
    run_and_save(one)
    assert (one.folder / "output.txt").stat().st_size == 80_000_000


def test_output_without_room_is_no_output(task: Callable[[str], Task], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save, "_has_room", lambda _: False)
    one = task("true")
    with pytest.raises(Failed, match="has no room for the output of wrk: No space left on device"):
        run_and_save(one)
    assert (one.folder / "tool.json").exists()


def test_the_address_takes_the_place_of_the_host_and_of_nothing_else(task: Callable[[str], Task]) -> None:
    load = replace(task("true").load, at="json:8080")
    assert at_address(load, "198.18.0.7").url == "http://198.18.0.7:8080/json"


def test_a_command_is_printed_as_one_would_type_it() -> None:
    assert command_line(Command(("a", "b c"))) == "a 'b c'"
    assert command_line(Command(("a",), "GET it's")) == """a <<<'GET it'"'"'s'"""
    assert command_line(Command(("a",), "x\ny")) == r"a <<<'x\ny'"


def test_an_unexpected_failure_has_its_place() -> None:
    try:
        Wrk().command(None)  # type: ignore[arg-type]
    except AttributeError as error:
        words = explained(error)
    assert words.startswith("wrk.py:") and "AttributeError: 'NoneType'" in words

"""tool.json from the words that bash collects: every key, value and type that its readers know."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.cli.tool_json import tool_json_verb
from bench.core.errors import UserError
from bench.drive.tool_json import tool_object

FACTS = {
    "limits/nofile": "1024",
    "limits/cpus": "2",
    "sysctls/net.ipv4.tcp_tw_reuse": "2",
    "sysctls/missing/net.ipv4.tcp_max_tw_buckets": "cannot read /proc/x",
    "before/loadgen/cpu.stat": "usage_usec 5\nnr_throttled 0",
    "before/missing/loadgen/memory.peak": "cannot read /sys/fs/cgroup/memory.peak",
    "before/proc_stat": "cpu  1 2 3",
    "start_ns": "1700000000000000001",
    "end_ns": "1700000005000000001",
    "elapsed_ns": "5000000000",
    "exit_status": "0",
    "waits/waited_ns": "700",
    "health_after/status": "200",
    "health_after/time_s": "0.001234",
    "health_after/error": "",
}
ARGV = ["wrk", "-H", "Connection: close", "http://a/'\"\n"]


def words(version: str = "4.1.0", stdin: str = "", **change: str) -> list[str]:
    facts = FACTS | {key.replace("__", "/"): value for key, value in change.items()}
    return ["wrk", version, stdin, str(len(ARGV)), *ARGV, *(word for pair in facts.items() for word in pair)]


def test_the_object() -> None:
    assert tool_object(words()) == {
        "schema": 1,
        "tool": "wrk",
        "tool_version": "4.1.0",
        "argv": ARGV,
        "stdin": None,
        "limits": {"nofile": 1024, "cpus": "2"},
        "sysctls": {
            "net.ipv4.tcp_tw_reuse": "2",
            "missing": {"net.ipv4.tcp_max_tw_buckets": "cannot read /proc/x"},
        },
        "before": {
            "loadgen": {"cpu.stat": "usage_usec 5\nnr_throttled 0"},
            "missing": {"loadgen": {"memory.peak": "cannot read /sys/fs/cgroup/memory.peak"}},
            "proc_stat": "cpu  1 2 3",
        },
        "start_ns": 1700000000000000001,
        "end_ns": 1700000005000000001,
        "elapsed_ns": 5000000000,
        "exit_status": 0,
        "waits": {"waited_ns": "700"},
        "health_after": {"status": 200, "time_s": 0.001234, "error": None},
    }


def test_what_is_not_known_is_null() -> None:
    told = tool_object(words("", "GET http://a", limits__nofile="unlimited", health_after__status="000"))
    assert (told["tool_version"], told["stdin"], told["limits"]["nofile"]) == (None, "GET http://a", None)
    assert told["health_after"] == {"status": None, "time_s": 0.001234, "error": None}
    told = tool_object(words(health_after__status="000", health_after__time_s="", health_after__error="curl: none"))
    assert told["health_after"] == {"status": None, "time_s": None, "error": "curl: none"}


@pytest.mark.parametrize("broken", [words()[:-1], words()[:6], ["wrk", "", "", "9", "wrk"], [], words(end_ns="soon")])
def test_words_that_are_no_facts_fail(broken: list[str]) -> None:
    with pytest.raises((ValueError, KeyError)):
        tool_object(broken)


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    stdin: Any = SimpleNamespace(buffer=io.BytesIO(data))
    monkeypatch.setattr("sys.stdin", stdin)


def test_the_verb_writes_into_the_room_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / ".tool.json.tmp"
    file.write_bytes(b"\0" * 65536)
    inode = file.stat().st_ino
    feed(monkeypatch, b"".join(word.encode() + b"\0" for word in words("v\u00e9", before__proc_stat="\u2028")) + b"")
    assert tool_json_verb([str(file)]) == 0
    assert file.stat().st_ino == inode
    text = file.read_text()
    assert text.endswith("}\n") and text.count("\n") == 1
    assert json.loads(text) == tool_object(words("v\u00e9", before__proc_stat="\u2028"))


def test_text_that_is_not_utf8_is_still_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / ".tool.json.tmp"
    file.touch()
    feed(monkeypatch, b"\0".join(word.encode() for word in words()).replace(b"4.1.0", b"4\xff") + b"\0")
    assert tool_json_verb([str(file)]) == 0
    assert json.loads(file.read_text())["tool_version"] == "4\ufffd"


def test_a_file_is_needed() -> None:
    with pytest.raises(UserError, match="tool-json takes a file"):
        tool_json_verb([])

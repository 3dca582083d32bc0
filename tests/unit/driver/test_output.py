"""What commands print: bounded where it is kept in memory, and without what a terminal obeys."""

from __future__ import annotations

import sys

import pytest
from captured import Capture, refused

from driver import docker
from driver.docker import DockerError, run
from driver.failure import plain, warn


def test_a_command_that_prints_without_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker, "MOST_OUTPUT", 1 << 20)
    assert "printed more than 1 MiB" in str(refused(DockerError, run, ["yes"]))
    assert "printed more than 1 MiB" in str(refused(DockerError, run, ["sh", "-c", "yes >&2"]))


def test_input_and_both_outputs_of_any_size_pass() -> None:
    data = b"x" * (4 << 20)
    code = "import sys; data = sys.stdin.buffer.read(); sys.stderr.write('e' * 100000); sys.stdout.buffer.write(data)"
    done = run([sys.executable, "-c", code], stdin=data)
    assert (len(done.out), len(done.err), done.status) == (len(data), 100_000, 0)
    assert run(["true"], stdin=data).status == 0, "it reads nothing"
    assert run(["cat"], stdin=b"").out == ""


def test_a_command_that_closes_its_output_and_goes_on_is_awaited_for_its_time_only() -> None:
    assert run(["sh", "-c", "exec >&- 2>&-; sleep 0.2; exit 3"], check=False).status == 3
    assert "took longer than 0.2 s" in str(refused(DockerError, run, ["sleep", "9"], timeout=0.2))
    with pytest.raises(DockerError, match=r"took longer than 0\.2 s"):
        run(["sh", "-c", "exec >&- 2>&-; sleep 9"], timeout=0.2)


def test_a_command_gets_no_more_memory_than_it_may_have() -> None:
    code = "import sys; print(sys.argv[1]); bytearray(200 << 20)"
    words = [sys.executable, "-c", code, "$(a) 'b'"]
    assert run(words, most_mib=1000).out == "$(a) 'b'\n"
    done = run(words, most_mib=100, check=False)
    assert (done.status, done.last_line) == (1, "MemoryError")


def test_messages_that_quote_a_build_do_nothing_to_the_terminal(capfd: Capture) -> None:
    warn("cannot be built: \x1b]0;owned\x07\x1b[2J\r\u202egnp\x9b1m")
    assert capfd.readouterr().err == r"cannot be built: \x1b]0;owned\x07\x1b[2J\r\u202egnp\x9b1m" + "\n"
    assert plain("a\tb\nc é 中") == "a\tb\nc é 中"

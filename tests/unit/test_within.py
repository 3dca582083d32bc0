"""tests/support/within.py: a command that hangs is ended with all that it started, and says what it was doing."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import PIPE, Popen, run

ROOT = Path(__file__).resolve().parents[2]


def within(seconds: str, command: str) -> tuple[int, str]:
    words = [sys.executable, "tests/support/within.py", seconds, "stage x", "bash", "-c", command]
    done = run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_a_command_that_ends_keeps_its_output_and_status() -> None:
    assert within("60", "echo done; exit 3") == (3, "done\n")


def test_a_command_that_hangs_is_ended_and_says_what_it_was_running(tmp_path: Path) -> None:
    # The child holds the pipe open: if it were left running, this call would not return.
    status, out = within("1", f"(sleep 3600; touch {tmp_path}/late) & sleep 3601")
    assert status == 124 and out.startswith("not ok - stage x did not end within 1 s; it was running:\n")
    assert "sleep 3600" in out and "sleep 3601" in out


def test_sigterm_ends_the_command_too() -> None:
    words = [sys.executable, "tests/support/within.py", "60", "stage x"]
    inner = [*words, "bash", "-c", "echo runs; sleep 3600 & sleep 3601"]
    with Popen([*words, *inner], cwd=ROOT, stdout=PIPE, text=True) as running:
        assert running.stdout and running.stdout.readline() == "runs\n"
        running.terminate()
        assert running.stdout.read() == ""  # both sleeps held the pipe open
        assert running.wait() == 130

"""Waiting for what a test needs, however slow the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.load.held import HeldTool

HANGS_S = 300.0
"""Ends a test that hangs; no machine is so slow."""


def until(true: Callable[[], object], pause_s: float = 0.02) -> None:
    """Wait for this; AssertionError if it never comes."""
    end = time.monotonic() + HANGS_S
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(pause_s)


IS_UP = "printf up >/proc/$$/comm"
"""What the shell script of a tool does once it handles SIGINT."""


def tools_are_up_in_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool's turn begins only once it is up, or has ended, because its start may take longer than a turn."""
    resume = HeldTool.resume

    def resume_and_wait(tool: HeldTool) -> None:
        resume(tool)
        if tool.status is None:
            until(lambda: _is_up(tool._process.pid), pause_s=0.002)

    monkeypatch.setattr(HeldTool, "resume", resume_and_wait)


def _is_up(pid: int) -> bool:
    name, _, state = Path(f"/proc/{pid}/stat").read_text().partition(") ")
    return name.endswith("(up") or state.startswith("Z")

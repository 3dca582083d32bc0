"""Every command of the README that measures ends with a ranking or a verdict, or is known not to."""

from __future__ import annotations

import re
import shlex

import pytest
from places import ROOT

from bench.cli.arguments import parse_selection
from bench.cli.plan import plan_of, wanted_of
from bench.plan.cells import Plan

CALL = re.compile(r"^\./scripts/matrix\.sh ([^#\n]+)", re.MULTILINE)
# What these need is in a folder of the reader's own; tests/unit/own_app and plan/test_packages.py have their plans.
OWN = ("--app ", "--package ./")
COMMANDS = [
    command.strip() for command in CALL.findall((ROOT / "README.md").read_text()) if not command.startswith(OWN)
]


def made(command: str) -> tuple[Plan, float | None]:
    words = [word for word in shlex.split(command) if word not in ("--setup", "--list")]
    options = parse_selection(words)
    plan, _, _ = plan_of(options)
    return plan, options.max_time


def test_the_commands_are_found() -> None:
    assert len(COMMANDS) >= 8


@pytest.mark.parametrize("command", [command for command in COMMANDS if "--resume" not in command])
def test_it_ends_with_an_answer(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    plan, max_time_s = made(command)
    assert plan.tables
    wanted = wanted_of(plan, max_time_s, None)
    assert wanted.services > 1 and wanted.tables
    assert max_time_s is None or wanted.first_look_s + wanted.prepared_s < max_time_s

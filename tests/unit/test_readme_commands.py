"""Every measuring command in the README and in answers about a user's own app ends with a ranking or a verdict."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from places import ROOT
from turns_runs import own_app_run

from bench.cli.arguments import parse_selection
from bench.cli.plan import plan_of, wanted_of
from bench.matrix.load import load_matrix
from bench.own_app.app import write_app
from bench.own_app.describe import Given, describe
from bench.words.own_app import Choice, own_app_choices
from driver.planning.matrix import read_request

CALL = re.compile(r"^((?:[A-Z]+=\S+ )*)\./scripts/matrix\.sh ([^#\n]+)", re.MULTILINE)
# These need files of the reader; plans with packages are in plan/test_variants.py.
OWN = ("--app ", "--package ./")


def choices() -> list[Choice]:
    """The commands that an answer about a user's own app recommends."""
    facts, told, services = own_app_run()
    return [choice for found in own_app_choices(facts, [told], services) for choice in found.choices]


REPORTS = [path.read_text() for path in ROOT.glob("results/published/*/report.md")]
README = (ROOT / "README.md").read_text()
TEXTS = (README, *(one.other_numbers for one in choices()), *REPORTS)
OWN_APPS = [call for text in TEXTS for call in CALL.findall(text) if call[1].startswith("--app ")]
COMMANDS = [words.strip() for _, words in CALL.findall(README) if not words.startswith(OWN)]


def test_the_commands_are_found() -> None:
    assert len(COMMANDS) >= 8


@pytest.mark.parametrize("command", [command for command in COMMANDS if "--resume" not in command])
def test_it_ends_with_an_answer(command: str) -> None:
    options = parse_selection([word for word in shlex.split(command) if word not in ("--setup", "--list")])
    wanted = wanted_of(plan_of(options)[0], options)
    assert wanted.services > 1 and wanted.tables
    assert wanted.max_time_s is None or wanted.first_look_s + wanted.prepared_s < wanted.max_time_s


@pytest.mark.parametrize(("settings", "command"), OWN_APPS)
def test_one_for_ones_own_app_does_too(
    settings: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the example app, whatever folder the command names."""
    for setting in settings.split():
        monkeypatch.setenv(*setting.split("=", 1))
    request = read_request(shlex.split(command))
    assert request.own.keys() >= {"folder", "app"} and request.verb == "plan"
    source = ROOT / request.own["folder"]
    source = source if source.is_dir() else ROOT / "examples/shop/flask"
    given = Given(folder=request.own["folder"], app=request.own["app"], source=source)
    write_app(tmp_path, describe(given, load_matrix())[0])
    plan, _, _ = plan_of(parse_selection([f"--own-app={tmp_path}", *request.selection]))
    assert plan.tables and len(plan.tables[0].cells) > 1


def test_what_an_answer_says_to_run_is_what_pip_and_a_shell_take() -> None:
    found = choices()
    assert len(OWN_APPS) > len(found) > 1
    for choice in found:
        install, start = choice.commands
        assert [Requirement(word).specifier for word in shlex.split(install)[2:]] and install.startswith("pip install ")
        assert "main:app" in shlex.split(start) or "main" in start

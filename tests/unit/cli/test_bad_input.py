"""Invalid selections: one line that says how to fix it, and exit status 2."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree
from unittest.mock import Mock

import pytest
from captured import Capture, Patch, printed
from messages import MESSAGES
from places import ROOT

from bench.__main__ import main
from bench.core.gone import gone

FAULTS = MESSAGES["list"]


@pytest.mark.parametrize(("selection", "words"), FAULTS.items(), ids=list(FAULTS))
def test_one_line_says_how_to_fix_it(selection: str, words: str, capsys: Capture) -> None:
    assert main(["list", *selection.split()]) == 2
    out, err = capsys.readouterr()
    assert out == "" and re.fullmatch(r"bench: .*\n", err) and words in err


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("SERVER_CPUS", "4096", "fix it in .env"), ("WORKER_CLASS", "threads", "is not sync or gevent")],
)
def test_invalid_setting(name: str, value: str, words: str, monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setenv(name, value)
    assert words in printed(capsys, "list", status=2)


def test_ctrl_c_ends_a_verb_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("bench.cli.plan.list_verb", Mock(side_effect=KeyboardInterrupt))
    assert main(["list"]) == 130 and capsys.readouterr() == ("", "")


def test_preset_with_tables_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    copytree(ROOT / "services", tmp_path / "services")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "services/matrix.local.toml").write_text('[presets.quick]\ntables = ["summary", "tldr"]\n')
    assert main(["list", "--preset", "quick"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert f"presets.quick: {gone()['tables of a preset']}" in err

"""A selection's faults: a one-line error that says how to fix it, exit status 2."""

from __future__ import annotations

import re

import pytest

from bench.__main__ import main

FAULTS = {
    "--stack flask": "unknown stack 'flask'; closest of ",
    "--tool curl": "there are: wrk, ab, hey, vegeta",
    "--scenario nope": "unknown scenario 'nope'; there are: ",
    "--python 2.7": "there are: 3.9, 3.10",
    "--preset nope": "there are: quick",
    "--frobnicate": "see scripts/matrix.sh --help",
    "--level knee": "give knee:p99=50ms",
    "--level many": "is not a level: give connections",
    "--duration 0.5": "whole seconds",
    "--duration nan": "whole seconds",
    "--rounds 0": "a number from 1 to 99",
    "--rounds -1": "is not a whole number",
    "--max-time 0": "is not a number of minutes above 0",
    "--mode trio": "there are: turns, solo",
    "--mode duet": "--mode duet is gone",
    "--server bjoern --framework starlette": "nothing matches",
    "--profile --stack aiohttp": "select two services or more",
    "--profile --mode solo --stack aiohttp,tornado": "without --mode solo",
    "--profile --target http://127.0.0.1:8000/": "--target, is not sampled",
    "--vary THREADS": "is not NAME=VALUE",
    "--vary THREADS=": "a value is empty",
    "--vary THREADS=two": "is not a whole number above 0",
    "--vary THREADS=2,2": "2 is given twice",
    "--vary THREADS=2 --vary THREADS=4": "--vary THREADS is given twice",
    "--vary CPU_QUOTA=9.99,999": "which is less than",
    "--stack aiohttp --vary THREADS=2,4": "no server of the selection reads it; those that do: ",
    "--stack aiohttp --vary NOBODY_READS=2,4": "no server of the selection reads it; nor does any other",
}


@pytest.mark.parametrize(("selection", "words"), FAULTS.items(), ids=list(FAULTS))
def test_one_line_says_how_to_fix_it(selection: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", *selection.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"bench: .*\n", printed.err)
    assert words in printed.err


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("SERVER_CPUS", "4096", "fix it in .env"), ("WORKER_CLASS", "threads", "is not sync or gevent")],
)
def test_a_wrong_setting_is_named(
    name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    assert main(["list"]) == 2
    assert words in capsys.readouterr().err


def test_ctrl_c_ends_a_verb_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(argv: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("bench.cli.plan.list_verb", interrupted)
    assert main(["list"]) == 130
    assert capsys.readouterr() == ("", "")

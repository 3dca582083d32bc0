"""Invalid selections: one line that says how to fix it, and exit status 2."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree
from unittest.mock import Mock

import pytest
from captured import Capture, Patch, printed
from places import ROOT

from bench.__main__ import main
from bench.core.gone import gone

FAULTS = {
    "--stack flask": "unknown stack 'flask'; did you mean uwsgi-flask or ",
    "--stack gunicorn-snyc-flask": "did you mean gunicorn-sync-flask or ",
    "--server granian": "unknown server 'granian'; did you mean granian-wsgi or granian-rsgi or granian-asgi?",
    "--framework Flsk": "unknown framework 'Flsk'; did you mean flask? scripts/matrix.sh --list frameworks lists all",
    "--base alpin": "unknown base 'alpin'; did you mean alpine? scripts/matrix.sh --list bases lists all",
    "--tool curl": "unknown tool 'curl'; scripts/matrix.sh --list tools lists all",
    "--scenario dealy-30": "unknown scenario 'dealy-30'; did you mean delay-30",
    "--scenario queries-raw": "did you mean queries-N-raw or ",
    "--python 3.31": "unknown Python '3.31'; did you mean 3.15 or 3.14 or 3.13?",
    "--preset quik": "unknown preset 'quik'; did you mean quick? scripts/matrix.sh --list presets lists all",
    "--xyz": "unknown option '--xyz'; scripts/matrix.sh --help lists all",
    "--stak=aiohttp": "unknown option '--stak'; did you mean --stack or ",
    "--intreface wsgi": "unknown option '--intreface'; did you mean --interface? scripts/matrix.sh --help lists all",
    "quick": "unrecognized arguments: quick; see scripts/matrix.sh --help",
    "--level knee": "unknown level 'knee'; scripts/matrix.sh --list levels lists all",
    "--level knee:p99=9999ms": "p99 of a knee is limited to 1 to 2000 ms",
    "--level many": "unknown level 'many'; scripts/matrix.sh --list levels lists all",
    "--duration 0.5": "--duration takes whole seconds, 1 to 86400 (ab and wrk take no fractions)",
    "--duration nan": "--duration takes whole seconds, 1 to 86400 (ab and wrk take no fractions)",
    "--rounds 0": "--rounds takes a number from 1 to 99",
    "--rounds -1": "is not a whole number",
    "--max-time 0": "is not a number of minutes above 0",
    "--mode turn": "unknown mode 'turn'; did you mean turns? there are: turns, solo",
    "--mode duet": "--mode duet is gone: two services of a selection (--stack A,B) are compared in turns",
    "--mode both": "--mode both is gone: two services of a selection (--stack A,B) are compared in turns",
    "--loadgens 2": "--loadgens is gone: give the load generator more CPUs (LOADGEN_CPUS in .env), or ",
    "--loadgens=2": "--loadgens is gone: give the load generator more CPUs (LOADGEN_CPUS in .env), or ",
    "--preset selftest-hog": "--preset selftest-hog is gone: use scripts/selftest.sh tables --hog",
    "--tool hold": "--tool hold is gone: --event connections measures ",
    "--server bjoern --framework starlette": "nothing matches",
    "--profile --stack aiohttp": "select two services or more",
    "--profile --mode solo --stack aiohttp,tornado": "without --mode solo",
    "--controls none --stack aiohttp,tornado --scenario json --tool wrk,vegeta --level 16,share50": "--controls none",
    "--profile --target http://127.0.0.1:8000/": "--target, is not sampled",
    "--vary THREADS": "is not NAME=VALUE",
    "--vary THREADS=2 --vary THREADS=4": "--vary THREADS is given twice",
    "--vary CPU_QUOTA=9.99,999": "which is less than",
    "--stack aiohttp --vary UNREAD=2,4": "unknown knob 'UNREAD'; did you mean THREADS? scripts/matrix.sh --list knobs ",
    "--stack aiohttp --vary WORKER=2,4": "unknown knob 'WORKER'; did you mean WORKERS",
}


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

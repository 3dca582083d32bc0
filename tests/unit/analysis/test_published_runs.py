"""Published runs rebuild to the same verdicts from their raw files, and the self-tests hold for them."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from bench.analysis.judged_run import judge_run
from calibration.command import judge_verb
from calibration.pairs import aa, power

PUBLISHED = ROOT / "results" / "published"
RUNS = sorted(path.parent.name for path in PUBLISHED.glob("*/raw.tar.xz"))
PAIRED = [name for name in RUNS if json.loads((PUBLISHED / name / "run.json").read_text()).get("pairs")]
A_A_RUNS = [name for name in RUNS if name.startswith("selftest-aa")]
SLOWED = [name for name in RUNS if name.startswith("selftest-power")]


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The published runs by name, unpacked and evaluated again."""
    folders = {}
    for name in RUNS:
        folders[name] = tmp_path_factory.mktemp("published") / name
        with tarfile.open(PUBLISHED / name / "raw.tar.xz") as packed:
            packed.extractall(folders[name], filter="fully_trusted")  # this repository's own; half the time
        shutil.copy(PUBLISHED / name / "run.json", folders[name])
        judge_run(folders[name])
    return folders


def verdicts(folder: Path) -> list[dict[str, Any]]:
    """Every figure of verdicts.jsonl; reasons and flags are words."""
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key not in ("reason", "flags")} for line in lines]


def figures(line: dict[str, Any]) -> dict[str, Any]:
    return {
        key: pytest.approx(value) if isinstance(value, float | list) else value  # an interval is a list
        for key, value in line.items()
    }


def test_every_published_run_is_rebuilt() -> None:
    assert sorted(path.name for path in PUBLISHED.iterdir() if path.is_dir()) == RUNS
    assert len(PAIRED) >= 13 and {*A_A_RUNS, *SLOWED} <= {*PAIRED}


@pytest.mark.parametrize("name", PAIRED)
def test_the_verdicts_are_what_the_raw_files_say(name: str, rebuilt: dict[str, Path]) -> None:
    made, published = verdicts(rebuilt[name]), verdicts(PUBLISHED / name)
    assert made and made == [figures(line) for line in published]


def test_two_hundred_verdicts_on_a_service_and_its_a_a_copy_are_no_difference(rebuilt: dict[str, Path]) -> None:
    text, holds = aa(paths(rebuilt, A_A_RUNS))
    assert holds, text
    assert text.count(" verdicts are a difference") == 1
    judged = sum(line["verdict"] != "control" for name in A_A_RUNS for line in verdicts(PUBLISHED / name))
    assert judged >= 200
    assert f"of {judged} verdicts" in text


def test_published_verdicts_are_taken_together_as_they_are(
    rebuilt: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge_verb(["aa", *(str(PUBLISHED / name) for name in A_A_RUNS)]) == 0
    assert capsys.readouterr().out == aa(paths(rebuilt, A_A_RUNS))[0] + "\n"


def test_slowdowns_are_found_in_time_and_estimated_well(rebuilt: dict[str, Path]) -> None:
    text, holds = power(paths(rebuilt, SLOWED))
    assert holds, text
    assert [line.split("|")[1].strip() for line in text.splitlines()[2:]] == ["3 %", "5 %", "10 %"]


def test_known_latencies_and_a_known_knee_were_measured(
    rebuilt: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge_verb(["latency", str(rebuilt["selftest-latency"])]) == 0
    table = capsys.readouterr().out
    assert table == (PUBLISHED / "selftest-latency/selftest.md").read_text()
    assert [line.split("|")[2].strip() for line in table.splitlines()[2:]] == ["p99", "p90", "p99", "knee"]


def paths(rebuilt: dict[str, Path], names: Sequence[str]) -> list[str]:
    return [str(rebuilt[name]) for name in names]

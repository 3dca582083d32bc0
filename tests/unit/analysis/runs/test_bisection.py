"""How a verdict classifies a commit in a bisection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captured import Capture
from compared_runs import build_failed, in_turns

from bench.__main__ import main
from bench.analysis.runs.bisection import commit_verdict
from bench.analysis.tables.ranking import Contrast, Metric
from bench.cli.report import build_verb
from bench.core.errors import UserError
from bench.words.changes import change_words
from bench.words.runs import commit_words, whole_difference

WHOLE = -0.36  # half of it is -0.2, because differences multiply: 0.8 * 0.8 = 0.64


def contrast(verdict: str, difference: float, low: float = -0.5, high: float = 0.5) -> Contrast:
    figures: dict[str, Any] = {"difference": difference, "interval": (low, high), "smallest_visible": 0.05}
    return Contrast(a="good", b="head", verdict=verdict, **figures)


VERDICTS = [
    ("slower", -0.36, -0.4, "bad"),
    ("slower", -0.201, -0.3, "bad"),
    ("slower", -0.199, -0.3, "good"),
    ("slower", -0.03, -0.05, "good"),
    ("equal", -0.01, -0.02, "good"),
    ("faster", 0.3, 0.2, "good"),
    ("no winner", -0.01, -0.19, "good"),
    ("no winner", -0.01, -0.21, "skip"),
    ("no winner", 0.1, -1.0, "skip"),
]


@pytest.mark.parametrize(("verdict", "difference", "low", "word"), VERDICTS)
def test_a_commit_is_bad_from_half_of_the_whole_difference_on(
    verdict: str, difference: float, low: float, word: str
) -> None:
    found = contrast(verdict, difference, low)
    assert commit_verdict(found, False, WHOLE) == word
    figures = change_words(Metric.GOODPUT, found)
    assert commit_words(Metric.GOODPUT, found, "", WHOLE).startswith(f"{word}: {verdict}: {figures}")


def test_a_slowdown_too_small_to_be_called_is_bad_if_all_of_its_interval_is_beyond_the_half() -> None:
    found = contrast("equal", -0.019, -0.025, -0.013)
    assert commit_verdict(found, False, -0.021) == "bad"
    assert commit_verdict(found, False, -0.04) == "skip"


def test_without_a_figure_a_commit_is_skipped_unless_it_is_the_good_one_that_has_none() -> None:
    assert commit_words(Metric.CPU, None, "head: build failed", WHOLE) == "skip: head: build failed"
    assert commit_words(Metric.CPU, contrast("slower", -0.4), "head: errors", WHOLE) == "skip: head: errors"
    assert commit_words(Metric.CPU, None, "good: build failed", WHOLE, good_failed=True) == "abort: good: build failed"
    assert commit_words(Metric.CPU, None, "", WHOLE) == "skip: no winner"


@pytest.mark.parametrize("verdict", ["faster", "equal", "no winner"])
def test_what_is_not_slower_is_not_bisected(verdict: str) -> None:
    assert whole_difference(Metric.CPU, contrast("slower", -0.4), "") == -0.4
    with pytest.raises(UserError, match=rf"nothing to bisect: .*: {verdict}: .*1.0 %"):
        whole_difference(Metric.CPU, contrast(verdict, -0.01), "")
    with pytest.raises(UserError, match="cannot be compared: bad: build failed"):
        whole_difference(Metric.CPU, contrast("slower", -0.4), "bad: build failed")
    with pytest.raises(UserError, match=r"nothing to bisect: .*: no winner$"):
        whole_difference(Metric.CPU, None, "")


def test_of_a_run(tmp_path: Path, capsys: Capture) -> None:
    folder = in_turns(tmp_path / "slow", {"aiohttp": 4000, "tornado": 3200})
    build_verb(["--quiet", str(folder)])
    assert main(["bisect", str(folder)]) == 0
    whole, words = capsys.readouterr().out.split(" ", 1)
    assert -0.2 < float(whole) < -0.19
    assert words.startswith("slower: needs 24 % more CPU per request (")
    assert main(["bisect", str(folder), f"--whole={whole}"]) == 0
    assert capsys.readouterr().out == f"bad: {words}"
    assert main(["bisect", str(folder), "--whole=-0.5"]) == 0
    assert capsys.readouterr().out == f"good: {words}"


@pytest.mark.parametrize(("failed", "said"), [("tornado", "skip"), ("aiohttp", "abort")])
def test_of_a_run_in_which_one_was_not_measured(failed: str, said: str, tmp_path: Path, capsys: Capture) -> None:
    stacks = ("aiohttp", "tornado")
    folder = in_turns(tmp_path / "a-run", {stack: 4000 for stack in stacks if stack != failed}, stacks=stacks)
    build_failed(folder, failed)
    build_verb(["--quiet", str(folder)])
    assert main(["bisect", str(folder), "--whole=-0.5"]) == 0
    assert capsys.readouterr().out == f"{said}: {failed}-py313-debian: build failed: no wheel\n"


def test_more_than_one_comparison_is_refused(tmp_path: Path, capsys: Capture) -> None:
    folder = in_turns(tmp_path / "three", {"tornado": 3200, "aiohttp": 4000, "uvicorn-asgi": 3205})
    build_verb(["--quiet", str(folder)])
    assert main(["bisect", str(folder)]) == 2
    assert "follows one comparison, and this selection has 2: narrow it with --stack" in capsys.readouterr().err

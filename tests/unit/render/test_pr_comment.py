"""The pull request comment: its verdicts, what it leaves open, and its exit status by policy."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from make_run import entry, output_of, write_measurement, write_run
from pair_runs import SAME, steady, write_pairs

from bench.__main__ import main
from bench.analysis.comparison import Metric
from bench.analysis.pair_analysis import Judged, PlannedPair
from bench.analysis.verdicts import Verdict
from bench.cli.report import build_verb
from bench.render.pr_comment import MOST_BYTES, Policy, code, parse_policy, verdict_comment
from bench.stats.estimates import Estimate, Interval

HOSTILE = "x`|\\| @octocat #1 <script>alert(1)</script> ![i](http://b.example) \u202eback\nnext \x1b[31m"


def verdict(word: str, mean: float | None = None, **changes: Any) -> Verdict:
    found = None if mean is None else Estimate((mean - 0.001, mean + 0.001))
    interval = None if mean is None else Interval(mean - 0.01, mean + 0.01, 0.98)
    values = {"word": word, "metric": Metric.CPU, "rounds": 8, "estimate": found, "interval": interval}
    values |= {"p": 1.0, "adjusted_p": 1.0, "reason": "", "flags": ()}
    return Verdict(**values | changes)  # type: ignore[arg-type]


def judged(*found: Verdict, name: str = "svc") -> Judged:
    pairs = [
        PlannedPair(f"p{n:03}", f"{name}-was", f"{name}-{n}", "json", "wrk", "c64", False) for n in range(len(found))
    ]
    return Judged(pairs=tuple(pairs), verdicts=found)


def comment(*found: Verdict, policies: tuple[str, ...] = (), **changes: Any) -> tuple[str, int]:
    made = verdict_comment("a-run", judged(*found, **changes), [parse_policy(text) for text in policies], {})
    return made.text, made.violations


def test_what_is_wrong_comes_first_and_no_difference_is_folded_away() -> None:
    text, _ = comment(
        verdict("no difference shown", 0.001),
        verdict("faster", 0.1),
        verdict("slower", -0.03),
        verdict("not enough data", -0.2, reason="too wide"),
        verdict("invalid: errors"),
        verdict("slower", -0.3),
    )
    assert text.startswith("### 6 pairs: 1 invalid, 2 slower, 1 not enough data, 1 faster, 1 no difference shown\n")
    order = re.findall(r"^\| `svc-(\d)` ", text, re.MULTILINE)
    assert order == ["4", "5", "2", "3", "1", "0"]
    assert text.index("<details>") < text.index("`svc-0`") < text.index("</details>")
    assert "`too wide`" in text
    assert "not verdicts: whether these pairs differ is unknown" in text


@pytest.mark.parametrize(
    ("policy", "mean", "violations"),
    [
        ("slower", -0.021, 1),
        ("slower:5%", -0.03, 0),
        # 5.00 % and 5.01 %, as the verdict's own words have it.
        ("slower:5%", -0.04879, 0),
        ("slower:5%", -0.0489, 1),
        ("slower:0.5%", -0.021, 1),
    ],
)
def test_slower_fails_beyond_its_percentage(policy: str, mean: float, violations: int) -> None:
    assert comment(verdict("slower", mean), policies=(policy,))[1] == violations


@pytest.mark.parametrize("word", ["faster", "no difference shown", "not enough data", "invalid: errors"])
def test_only_the_verdict_slower_is_slower(word: str) -> None:
    """However large the estimate is: the data does not support a verdict."""
    text, violations = comment(verdict(word, -0.5), policies=("slower",))
    assert violations == 0
    unknown = word.startswith(("invalid", "not enough"))
    assert ("; pairs without a verdict are not covered: 1." in text) == unknown
    assert ("whether these pairs differ is unknown" in text) == unknown


@pytest.mark.parametrize(
    ("policy", "word", "violations"),
    [
        ("invalid", "invalid: errors", 1),
        ("invalid", "not enough data", 0),
        ("not-enough-data", "not enough data", 1),
        ("not-enough-data", "invalid: errors", 0),
        ("invalid", "slower", 0),
    ],
)
def test_what_has_no_verdict_can_fail_too(policy: str, word: str, violations: int) -> None:
    assert comment(verdict(word, -0.5), policies=(policy,))[1] == violations


def test_a_service_that_was_not_measured_is_reported_and_invalid() -> None:
    failures = {"svc-0": ("failed verification", "not ok 3 echo")}
    found = verdict("not enough data", rounds=0)
    made = verdict_comment("a-run", judged(found), [Policy("invalid")], failures)
    assert "Not measured: `svc-0`, `failed verification: not ok 3 echo`." in made.text
    assert made.violations == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "slower:",
        "slower:5",
        "slower:-5%",
        "slower:5 %",
        "Slower",
        "invalid:5%",
        "faster:5%",
        "slower:5%x",
        "slower:٥%",
    ],
)
def test_a_policy_is_read_strictly(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pr-comment", "no-run", "--fail-on", text]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"policy '{text}' is none of: slower, slower:5%, invalid" in err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "give one run with pairs, or two runs"),
        (["a", "b", "c"], "give one run with pairs, or two runs"),
        (["a", "--fail-on"], "expected one argument"),
        (["a", "--fail"], "unrecognized arguments"),
        (["a"], "'a' is not a results folder"),
    ],
)
def test_a_wrong_call_is_a_one_line_error(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pr-comment", *argv]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_hostile_words_are_spans_of_code() -> None:
    text, _ = comment(verdict("not enough data", -0.1, reason=HOSTILE), verdict(f"invalid: {HOSTILE}"), name=HOSTILE)
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 2
    outside = re.sub(r"`[^`]*`", "", text)
    for word in ("octocat", "#1", "<script>", "http://", "back", "\u202e", "\x1b"):
        assert word not in outside
    assert not set("\u202e\x1b\n") & set(code(HOSTILE))
    for row in rows:
        assert row.count("|") == 7


def test_a_comment_always_fits() -> None:
    wide = "\U0001f40d" * 300
    found = [verdict(word, -0.1, reason=wide, flags=(wide,)) for word in ("slower", "no difference shown") * 2000]
    text, violations = comment(*found, policies=("slower",), name=wide)
    assert len(text.encode()) <= MOST_BYTES
    assert violations == 2000
    assert "4000 pairs: 2000 slower, 2000 no difference shown" in text
    assert "more pairs: see the run's report." in text
    assert "violated by 2000" in text


def test_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From raw files: B does 20 % less in the same CPU time."""
    pairs = [("aa1", "aiohttp", "aiohttp", SAME, SAME), ("p001", "aiohttp", "tornado", SAME, steady(3200, 0.9))]
    folder = write_pairs(tmp_path / "a-run", pairs, 30, 8)
    build_verb([str(folder)])
    assert main(["pr-comment", str(folder), "--fail-on", "slower:10%", "--fail-on", "invalid"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("### 1 pair: 1 slower\n")
    assert "| `tornado-py313-debian` | `aiohttp-py313-debian` | `json wrk c16` | slower 2" in out
    assert "`--fail-on slower:10%`: violated by 1." in out
    assert "`--fail-on invalid`: passed." in out
    assert main(["pr-comment", "--fail-on=slower:50%", str(folder)]) == 0
    assert main(["pr-comment", str(folder)]) == 0
    assert main(["pr-comment", str(folder), "--fail-on", "not-comparable"]) == 2


def solo(folder: Path, rate: float, *, bad: int = 0, **facts: Any) -> str:
    lines = [entry(stack, number=number) for number, stack in enumerate(("aiohttp", "tornado"), 1)]
    write_run(folder, lines, **facts)
    for line in lines:
        write_measurement(folder, line, output_of(line, rate, bad if line["server"] == "tornado" else 0))
    build_verb([str(folder)])
    return str(folder)


def test_two_runs_have_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, head = solo(tmp_path / "base", 3000), solo(tmp_path / "head", 1000, bad=40)
    assert main(["pr-comment", base, head, "--fail-on", "not-comparable"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("### No verdict: two runs\n")
    assert not re.search(r"\b(faster|slower)\b", out)
    assert "| `aiohttp-py313-debian` | `json wrk c64` | 3,000 | 1,000 |" in out
    assert re.search(r"^\| `tornado-py313-debian` \| `json wrk c64` \| 3,000 \| `invalid: .*` \|$", out, re.MULTILINE)
    assert main(["pr-comment", base, head, "--fail-on", "invalid"]) == 1
    for policy in ("slower", "slower:5%", "not-enough-data"):
        assert main(["pr-comment", base, head, "--fail-on", policy]) == 2
        assert "verdicts need base and head as pairs of one run" in capsys.readouterr().err


def test_incompatible_runs_show_no_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = solo(tmp_path / "base", 3000)
    head = solo(tmp_path / "head", 1000, host={"cpu": "another | CPU @octocat", "cpus": 2})
    assert main(["pr-comment", base, head]) == 0
    out = capsys.readouterr().out
    assert out.startswith("### No verdict: two incompatible runs\n")
    assert "3,000" not in out
    assert "`incompatible: host cpu:" in out
    assert "octocat" not in re.sub(r"`[^`]*`", "", out)
    assert main(["pr-comment", base, head, "--fail-on", "not-comparable"]) == 1


def test_a_run_without_pairs_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pr-comment", solo(tmp_path / "base", 3000)]) == 2
    assert "measure with --mode duet" in capsys.readouterr().err


def test_a_service_that_failed_is_read_from_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_pairs(tmp_path / "a-run", [("p001", "aiohttp", "tornado", SAME, SAME)], 30, 0)
    failure = {"outcome": "build failed", "detail": "no wheel"}
    (folder / "raw/services/tornado-py313-debian/failure.json").write_text(json.dumps(failure))
    build_verb([str(folder)])
    assert main(["pr-comment", str(folder), "--fail-on", "invalid"]) == 1
    assert "Not measured: `tornado-py313-debian`, `build failed: no wheel`." in capsys.readouterr().out

"""The pull request comment: its verdicts, what it leaves open, and its exit status by policy."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared_runs import build_failed, in_turns
from make_run import entry, output_of, write_measurement, write_run

from bench.__main__ import main
from bench.analysis.tables.ranking import Contrast, Metric, NoFigure, RankedRow, Ranking
from bench.cli.report import build_verb
from bench.render.pr_comment import MOST_BYTES, Comparison, Policy, code, parse_policy, verdict_comment

HOSTILE = "x`|\\| @octocat #1 <script>alert(1)</script> ![i](http://b.example) \u202eback\nnext \x1b[31m"


def service(name: str, note: str = "", windows: int = 8) -> RankedRow:
    none = dict.fromkeys(("rank", "tier", "difference", "interval", "goodput", "cpu_us", "memory_peak_bytes"))
    remarks = (NoFigure(note),) if note else ()
    return RankedRow(service=name, windows=windows, left_out=0, remarks=remarks, **none)  # type: ignore[arg-type]


def verdict(
    word: str,
    difference: float = 0.0,
    *,
    note: str = "",
    head: str = "svc-head",
    rounds: int = 8,
    visible: float = 0.04,
) -> Comparison:
    """The head of a table of two; where the word is `invalid`, it has no figure."""
    invalid = word == "invalid"
    contrast = (
        None
        if invalid or not rounds
        else Contrast(
            a="svc-was",
            b=head,
            verdict=word,
            difference=difference,
            interval=(difference - 0.01, difference + 0.01) if rounds >= 4 else None,
            smallest_visible=visible if word in ("not enough data", "no difference shown") else None,
            more_rounds=3 if word == "not enough data" else None,
        )
    )
    looks = (4, 6, 8, 12)
    ranking = Ranking(
        scenario="json",
        tool="wrk",
        level="c64",
        metric=Metric.CPU,
        rounds=rounds,
        looks=looks,
        look=max((look for look in looks if look <= rounds), default=None),
        confidence=0.9875,
        settled=False,
        rows=(),
        contrasts=(),
    )
    windows = 0 if invalid or not rounds else 8
    return Comparison(ranking, service("svc-was", windows=8 if rounds else 0), service(head, note, windows), contrast)


def comment(*found: Comparison, policies: tuple[str, ...] = ()) -> tuple[str, int]:
    made = verdict_comment("a-run", found, [parse_policy(text) for text in policies], {})
    return made.text, made.violations


def test_what_is_wrong_comes_first_and_no_difference_is_folded_away() -> None:
    words = ("no difference shown", "faster", "slower", "not enough data", "invalid", "slower")
    sizes = (0.001, 0.1, -0.03, -0.2, 0.0, -0.3)
    found = [verdict(word, size, head=f"svc-{n}") for n, (word, size) in enumerate(zip(words, sizes, strict=True))]
    text, _ = comment(*found)
    head = "### 6 comparisons: 1 invalid, 2 slower, 1 not enough data, 1 faster, 1 no difference shown\n"
    assert text.startswith(head)
    order = re.findall(r"^\| `svc-(\d)` ", text, re.MULTILINE)
    assert order == ["4", "5", "2", "3", "1", "0"]
    assert text.index("<details>") < text.index("`svc-0`") < text.index("</details>")
    assert "not verdicts: whether these services differ is unknown" in text


def test_a_row_has_the_difference_by_the_tables_metric_with_its_interval_and_what_is_missing() -> None:
    text, _ = comment(
        verdict("slower", -0.05, note="2 of 8 windows left out: errors"), verdict("not enough data", -0.02)
    )
    slower, open_one = (line for line in text.splitlines() if line.startswith("| `svc-head`"))
    assert slower == (
        "| `svc-head` | `svc-was` | `json wrk c64` | slower | -5.0 % | -6.0 % to -4.0 % | CPU per request | 8 |"
        " `svc-head: 2 of 8 windows left out: errors` |"
    )
    assert "`a difference of 4.0 % would most likely have been called; 3 rounds more would most likely decide it`" in (
        open_one
    )
    same, _ = comment(verdict("no difference shown", 0.001))
    assert "| `a difference of 4.0 % would most likely have been called` |" in same
    early, _ = comment(verdict("not enough data", -0.02, rounds=3))
    assert "| -2.0 % | – | CPU per request | 3 | `3 of the 4 rounds before the first look; " in early


def test_what_was_not_begun_has_no_verdict_and_is_not_invalid() -> None:
    text, violations = comment(verdict("not enough data", rounds=0), policies=("invalid",))
    assert violations == 0
    assert "| not enough data | – | – | CPU per request | 0 | `0 of the 4 rounds before the first look` |" in text


@pytest.mark.parametrize(
    ("policy", "mean", "violations"),
    [
        ("slower", -0.021, 1),
        ("slower:5%", -0.03, 0),
        ("slower:5%", -0.05, 0),
        ("slower:5%", -0.0501, 1),
        ("slower:0.5%", -0.021, 1),
    ],
)
def test_slower_fails_beyond_its_percentage(policy: str, mean: float, violations: int) -> None:
    assert comment(verdict("slower", mean), policies=(policy,))[1] == violations


@pytest.mark.parametrize("word", ["faster", "no difference shown", "not enough data", "invalid"])
def test_only_the_verdict_slower_is_slower(word: str) -> None:
    """However large the estimate is: the data does not support a verdict."""
    text, violations = comment(verdict(word, -0.5), policies=("slower",))
    assert violations == 0
    unknown = word.startswith(("invalid", "not enough"))
    assert ("; comparisons without a verdict are not covered: 1." in text) == unknown
    assert ("whether these services differ is unknown" in text) == unknown


@pytest.mark.parametrize(
    ("policy", "word", "violations"),
    [
        ("invalid", "invalid", 1),
        ("invalid", "not enough data", 0),
        ("not-enough-data", "not enough data", 1),
        ("not-enough-data", "invalid", 0),
        ("invalid", "slower", 0),
    ],
)
def test_what_has_no_verdict_can_fail_too(policy: str, word: str, violations: int) -> None:
    assert comment(verdict(word, -0.5), policies=(policy,))[1] == violations


def test_a_service_that_was_not_measured_is_reported_and_invalid() -> None:
    absent = {"svc-head": "failed verification: not ok 3 echo"}
    row = replace(verdict("not enough data", note=absent["svc-head"], rounds=0), failed=("svc-head",))
    made = verdict_comment("a-run", [row], [Policy("invalid")], absent)
    assert "Not measured: `svc-head`, `failed verification: not ok 3 echo`." in made.text
    words = "| invalid | – | – | CPU per request | 0 | `svc-head: failed verification: not ok 3 echo` |"
    assert words in made.text
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


def test_policies_are_checked_without_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pr-comment", "--check", "--fail-on=slower:5%", "--fail-on=invalid"]) == 0
    assert main(["pr-comment", "--check", "--fail-on=slower:5%", "--fail-on=slow"]) == 2
    out, err = capsys.readouterr()
    assert (out, err[:26]) == ("", "bench: policy 'slow' is no")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "give one run with a table in turns, or two runs"),
        (["--check", "a"], "give one run with a table in turns, or two runs"),
        (["a", "b", "c"], "give one run with a table in turns, or two runs"),
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
    text, _ = comment(*(verdict(word, -0.1, note=HOSTILE, head=HOSTILE) for word in ("not enough data", "invalid")))
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 2
    outside = re.sub(r"`[^`]*`", "", text)
    for word in ("octocat", "#1", "<script>", "http://", "back", "\u202e", "\x1b"):
        assert word not in outside
    assert not set("\u202e\x1b\n") & set(code(HOSTILE))
    for row in rows:
        assert row.count("|") == 10


def test_a_comment_always_fits() -> None:
    wide = "\U0001f40d" * 300
    found = [verdict(word, -0.1, note=wide, head=wide) for word in ("slower", "no difference shown") * 2000]
    text, violations = comment(*found, policies=("slower",))
    assert len(text.encode()) <= MOST_BYTES
    assert violations == 2000
    assert "4000 comparisons: 2000 slower, 2000 no difference shown" in text
    assert "more comparisons: see the run's report." in text
    assert "violated by 2000" in text


def test_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The head does 20 % less in the same CPU time, and comes second as it was selected second."""
    folder = in_turns(tmp_path / "a-run", {"aiohttp": 4000, "tornado": 3200})
    build_verb([str(folder)])
    assert main(["pr-comment", str(folder), "--fail-on", "slower:10%", "--fail-on", "invalid"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("### 1 comparison: 1 slower\n")
    assert "| `tornado-py313-debian` | `aiohttp-py313-debian` | `json wrk c16` | slower | -19." in out
    assert "`--fail-on slower:10%`: violated by 1." in out
    assert "`--fail-on invalid`: passed." in out
    assert main(["pr-comment", "--fail-on=slower:50%", str(folder)]) == 0
    assert main(["pr-comment", str(folder)]) == 0
    assert main(["pr-comment", str(folder), "--fail-on", "not-comparable"]) == 2


def test_every_other_service_is_compared_with_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = in_turns(tmp_path / "a-run", {"tornado": 3200, "aiohttp": 4000, "uvicorn-asgi": 3205})
    build_verb([str(folder)])
    assert main(["pr-comment", str(folder), "--fail-on", "slower"]) == 0
    rows = re.findall(r"^\| `(\S+)` \| `(\S+)` ", capsys.readouterr().out, re.MULTILINE)
    base = "tornado-py313-debian"
    assert sorted(rows) == [("aiohttp-py313-debian", base), ("uvicorn-asgi-py313-debian", base)]


def test_a_run_that_was_cut_says_so_and_fails_where_that_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = in_turns(tmp_path / "a-run", {"aiohttp": 4000, "tornado": 3200}, rounds=2)
    build_verb([str(folder)])
    assert main(["pr-comment", str(folder), "--fail-on", "not-enough-data"]) == 1
    assert "2 of the 4 rounds before the first look" in capsys.readouterr().out
    assert main(["pr-comment", str(folder), "--fail-on", "slower", "--fail-on", "invalid"]) == 0
    assert "comparisons without a verdict are not covered: 1." in capsys.readouterr().out


def test_a_service_without_any_figure_is_invalid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = in_turns(tmp_path / "a-run", {"aiohttp": 4000}, stacks=("aiohttp", "tornado"))
    build_failed(folder, "tornado")
    build_verb([str(folder)])
    assert main(["pr-comment", str(folder), "--fail-on", "invalid"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("### 1 comparison: 1 invalid\n")
    assert "Not measured: `tornado-py313-debian`, `build failed: no wheel`." in out
    assert main(["pr-comment", str(folder), "--fail-on", "slower"]) == 0


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
        assert "verdicts need base and head in one run" in capsys.readouterr().err


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


def test_a_run_without_a_table_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pr-comment", solo(tmp_path / "base", 3000)]) == 2
    assert "has no table in turns and so no verdicts: select two services" in capsys.readouterr().err


def test_a_run_in_pairs_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By none of the commands that read runs; the line says which version does."""
    lines = [entry("aiohttp"), entry("tornado", number=2, mode="duet", pair="p001", side="b")]
    folder = str(write_run(tmp_path / "old", lines))
    other = solo(tmp_path / "base", 3000)
    for argv in (
        ["pr-comment", folder],
        ["pr-comment", other, folder],
        ["build", folder],
        ["compare", folder, other],
        ["export", "csv", folder],
    ):
        assert main(argv) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert "old was measured in pairs, which this version no longer reads: use commit 6cb307d" in err

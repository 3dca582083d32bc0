"""The pull request comment: its verdicts, what it leaves open, and its exit status by policy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared_runs import build_failed, in_turns
from golden import same_as
from make_run import entry, write_measured, write_run
from places import GOLDEN
from ranking_run import without_a_figure
from rated_tables import rated
from turns_runs import ranking_of, service_of

from bench.__main__ import main
from bench.analysis.tables.judge import judge_tables
from bench.analysis.tables.ranking import Contrast, Metric, NoFigure, RankedRow
from bench.cli.report import build_verb
from bench.render.pr_comment import MOST_BYTES, Comparison, Policy, code, parse_policy, rows_of, verdict_comment
from bench.tools.levels import Level

Capture = pytest.CaptureFixture[str]

HOSTILE = "x`|\\| @octocat #1 <script>alert(1)</script> ![i](http://b.example) \u202eback\nnext \x1b[31m"


LIKE = replace(
    ranking_of({"aiohttp": 2, "tornado": 1}, 4), level=Level.read("c64"), confidence=0.9875, rows=(), contrasts=()
)


def service(name: str, note: str = "", windows: int = 8) -> RankedRow:
    return replace(without_a_figure(name), windows=windows, remarks=(NoFigure(note),) if note else ())


def verdict(
    word: str, difference: float = 0.0, *, note: str = "", head: str = "svc-head", rounds: int = 8
) -> Comparison:
    """The comparison of the head in a table of two; with the word `invalid`, it has no figure."""
    measured = word != "invalid" and rounds > 0
    contrast = Contrast(
        a="svc-was",
        b=head,
        verdict=word,
        difference=difference,
        interval=(difference - 0.01, difference + 0.01) if rounds >= 4 else None,
        smallest_visible=0.04 if word in ("no winner", "equal") else None,
        more_rounds=3 if word == "no winner" else None,
    )
    looks = (4, 6, 8, 12)
    look = max((look for look in looks if look <= rounds), default=None)
    ranking = replace(LIKE, rounds=rounds, looks=looks, look=look, settled=False)
    base, other = service("svc-was", windows=8 if rounds else 0), service(head, note, 8 if measured else 0)
    return Comparison(ranking, base, other, contrast if measured else None)


def comment(*found: Comparison, policies: Sequence[str] = ()) -> tuple[str, int]:
    made = verdict_comment("a-run", found, [parse_policy(text) for text in policies], {})
    return made.text, made.violations


def test_a_comment_of_all_kinds() -> None:
    """Problems come first, ties are folded, and missing verdicts are not hidden."""
    absent = {"svc-9": "failed verification: not ok 3 echo"}
    found = [
        verdict("equal", 0.001, head="svc-1"),
        verdict("faster", 0.1, head="svc-2"),
        verdict("slower", -0.03, head="svc-3", note="2 of 8 windows left out: errors"),
        verdict("no winner", -0.2, head="svc-4"),
        verdict("no winner", -0.02, head="svc-5", rounds=3),
        verdict("no winner", head="svc-6", rounds=0),
        verdict("invalid", head="svc-7", note="errors: 40 of 400"),
        verdict("slower", -0.3, head="svc-8"),
        replace(verdict("no winner", head="svc-9", note=absent["svc-9"], rounds=0), failed=("svc-9",)),
    ]
    policies = [Policy("slower", 5), Policy("slower"), Policy("invalid")]
    made = verdict_comment("a-run", found, policies, absent)
    same_as(GOLDEN / "comment.md", made.text)
    assert made.violations == 1 + 2 + 2


@pytest.mark.parametrize(
    ("policy", "word", "difference", "violations"),
    [
        ("slower", "slower", -0.021, 1),
        ("slower:5%", "slower", -0.03, 0),
        # 5 % more CPU per request.
        ("slower:5%", "slower", 1 / 1.05 - 1, 0),
        ("slower:5%", "slower", 1 / 1.0501 - 1, 1),
        ("slower:0.5%", "slower", -0.021, 1),
        # However large the estimate: the data does not support the verdict `slower`.
        *(("slower", word, -0.5, 0) for word in ("faster", "equal", "no winner", "invalid")),
        *(("invalid", word, -0.5, int(word == "invalid")) for word in ("invalid", "no winner", "slower")),
        *(("no-winner", word, -0.5, int(word == "no winner")) for word in ("no winner", "invalid")),
    ],
)
def test_what_violates_a_policy(policy: str, word: str, difference: float, violations: int) -> None:
    text, found = comment(verdict(word, difference), policies=(policy,))
    assert found == violations
    unknown = word in ("invalid", "no winner")
    assert ("; 1 comparison has no verdict and was not checked." in text) == (unknown and policy == "slower")
    assert ("whether these services differ is unknown" in text) == unknown


NO_POLICIES = [
    *("", "slower:", "slower:5", "slower:-5%", "slower:5 %", "slower:5%x", "slower:٥%"),
    *("Slower", "invalid:5%", "faster:5%"),
]


@pytest.mark.parametrize("text", NO_POLICIES)
def test_a_policy_is_read_strictly(text: str, capsys: Capture) -> None:
    assert main(["pr-comment", "no-run", "--fail-on", text]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"policy '{text}' is none of: slower, slower:5%, invalid" in err


def test_policies_are_checked_without_a_run(capsys: Capture) -> None:
    assert main(["pr-comment", "--check", "--fail-on=slower:5%", "--fail-on=invalid"]) == 0
    assert main(["pr-comment", "--check", "--fail-on=slower:5%", "--fail-on=slow"]) == 2
    out, err = capsys.readouterr()
    assert (out, err[:26]) == ("", "bench: policy 'slow' is no")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        *((argv, "give one run with a table in turns; see") for argv in ([], ["--check", "a"], ["a", "b", "c"])),
        (["a", "--fail-on"], "expected one argument"),
        (["a", "--fail"], "unknown option '--fail'"),
        (["a"], "unknown run 'a'"),
    ],
)
def test_a_wrong_call_is_a_one_line_error(argv: list[str], message: str, capsys: Capture) -> None:
    assert main(["pr-comment", *argv]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def of_latency(word: str, ratio: float, **how: Any) -> list[Comparison]:
    """Head and base of a table loaded at a common rate; the head's p99 is `ratio` times the base's."""
    tails = {"aiohttp": (1.0, 5.0), "gunicorn-sync-flask": (1.0, 5.0 * ratio)}
    speeds = {"aiohttp": 4000.0, "gunicorn-sync-flask": 4010.0}
    facts, records, loaded = rated(tails, services=speeds, **how)
    rows = rows_of(judge_tables(facts, records, None, loaded), facts, ())
    (found,) = [row for row in rows if row.metric is Metric.P99]
    assert found.kind == word
    return rows


def test_a_regression_of_p99_is_a_change_like_others() -> None:
    slower = of_latency("slower", 2.0)
    assert [str(row.metric) for row in slower] == ["CPU per request", "p50", "p99"]
    text, violations = comment(*slower, policies=["slower:50%", "no-winner"])
    assert violations == 1
    (line,) = [line for line in text.splitlines() if "p99" in line]
    assert "`json vegeta 1,800/s, p99` | slower | has a p99 " in line and "| 6 |" in line
    assert re.search(r"has a p99 (\d\.\d times as high|\d\d % higher) \(", line)
    text, violations = comment(*of_latency("faster", 0.5), policies=["slower"])
    assert violations == 0
    assert re.search(r"faster \| has a p99 \d\d % lower \(", text)


def test_a_p99_without_a_verdict_breaks_no_policy_on_missing_data() -> None:
    rows = of_latency("no winner", 1.0, spread=0.5)
    assert comment(*rows[1:], policies=["no-winner", "invalid", "slower"])[1] == 0


def test_a_missing_p99_says_why() -> None:
    left = {service_of("gunicorn-sync-flask"): "left out: 49 requests/s"}
    rows = of_latency("no winner", 1.0, rates={"left_out": left})
    assert "left out: 49 requests/s" in comment(*rows)[0]


def test_hostile_words_are_spans_of_code() -> None:
    text, _ = comment(*(verdict(word, -0.1, note=HOSTILE, head=HOSTILE) for word in ("no winner", "invalid")))
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 2
    outside = re.sub(r"`[^`]*`", "", text)
    for word in ("octocat", "#1", "<script>", "http://", "back", "\u202e", "\x1b"):
        assert word not in outside
    assert not set("\u202e\x1b\n") & set(code(HOSTILE))
    for row in rows:
        assert row.count("|") == 8


def test_a_comment_always_fits() -> None:
    wide = "\U0001f40d" * 300
    found = [verdict(word, -0.1, note=wide, head=wide) for word in ("slower", "equal") * 2000]
    text, violations = comment(*found, policies=("slower",))
    assert len(text.encode()) <= MOST_BYTES
    assert violations == 2000
    assert "4000 comparisons: 2000 slower, 2000 equal" in text
    assert "more comparisons: see the run's report." in text
    assert "failed, 2000 violations" in text


def told(folder: Path, capsys: Capture, *policies: str) -> tuple[str, int]:
    """The comment on a run, and the exit status."""
    build_verb(["--quiet", str(folder)])
    status = main(["pr-comment", str(folder), *(f"--fail-on={policy}" for policy in policies)])
    return capsys.readouterr().out, status


def test_of_one_run(tmp_path: Path, capsys: Capture) -> None:
    """The head serves 20 % less in the same CPU time, and comes second because it was selected second."""
    folder = in_turns(tmp_path / "a-run", {"aiohttp": 4000, "tornado": 3200})
    text, status = told(folder, capsys, "slower:10%", "invalid")
    assert status == 1 and text.startswith("### 1 comparison: 1 slower\n")
    assert "| `tornado-py313-debian` | `aiohttp-py313-debian` | `json wrk c16` | slower | needs 2" in text
    assert "`--fail-on slower:10%`: failed, 1 violation." in text and "`--fail-on invalid`: passed." in text
    assert [told(folder, capsys, *policies)[1] for policies in (("slower:50%",), ())] == [0, 0]


def test_every_other_service_is_compared_with_the_first(tmp_path: Path, capsys: Capture) -> None:
    folder = in_turns(tmp_path / "a-run", {"tornado": 3200, "aiohttp": 4000, "uvicorn-asgi": 3205})
    text, status = told(folder, capsys, "slower")
    rows, base = re.findall(r"^\| `(\S+)` \| `(\S+)` ", text, re.MULTILINE), "tornado-py313-debian"
    assert status == 0 and sorted(rows) == [("aiohttp-py313-debian", base), ("uvicorn-asgi-py313-debian", base)]


def test_a_run_that_was_cut_says_so_and_fails_where_that_is_asked(tmp_path: Path, capsys: Capture) -> None:
    folder = in_turns(tmp_path / "a-run", {"aiohttp": 4000, "tornado": 3200}, rounds=2)
    text, status = told(folder, capsys, "no-winner")
    assert status == 1 and "2 of the 4 rounds needed for the first verdicts" in text
    assert told(folder, capsys, "slower", "invalid")[1] == 0


def test_a_service_without_any_figure_is_invalid(tmp_path: Path, capsys: Capture) -> None:
    folder = in_turns(tmp_path / "a-run", {"aiohttp": 4000}, stacks=("aiohttp", "tornado"))
    build_failed(folder, "tornado")
    text, status = told(folder, capsys, "invalid")
    assert status == 1 and text.startswith("### 1 comparison: 1 invalid\n")
    assert "Not measured: `tornado-py313-debian`, `build failed: no wheel`." in text
    assert told(folder, capsys, "slower")[1] == 0


def solo(folder: Path) -> str:
    lines = [entry(stack, number=number) for number, stack in enumerate(("aiohttp", "tornado"), 1)]
    build_verb(["--quiet", str(write_measured(folder, lines, 3000))])
    return str(folder)


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (("x", "y"), "two runs get no verdict: use scripts/compare-runs.sh RUN OTHER, or measure both in one run"),
        (("x", "--fail-on", "not-comparable"), "is gone: use scripts/compare-runs.sh --check RUN OTHER"),
    ],
)
def test_a_comment_on_two_runs_leads_to_their_table(words: Sequence[str], instead: str, capsys: Capture) -> None:
    assert main(["pr-comment", *words]) == 2
    err = capsys.readouterr().err
    assert instead in err and err.count("\n") == 1


def test_a_run_without_a_table_says_so(tmp_path: Path, capsys: Capture) -> None:
    assert main(["pr-comment", solo(tmp_path / "base")]) == 2
    assert "has no table in turns and so no verdicts: select two services" in capsys.readouterr().err


@pytest.mark.parametrize(
    "place", ["aiohttp-py313-debian/json/wrk-c64", "blocks/b1/json/wrk-c64/w1/aiohttp-py313-debian"]
)
def test_a_run_with_the_folders_of_an_earlier_version_is_not_read(place: str, tmp_path: Path, capsys: Capture) -> None:
    """No command that reads runs accepts it; the message names the version that does."""
    folder = str(write_run(tmp_path / "old", [entry("aiohttp", dir=f"raw/r01/{place}")]))
    other = solo(tmp_path / "base")
    for argv in (["pr-comment", folder], ["build", folder], ["compare", folder, other], ["export", "csv", folder]):
        assert main(argv) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert "old has the folders of an earlier version: use the commit that it was measured with (harness.c" in err

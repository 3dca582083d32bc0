"""Text for readers: no phrases that must be read twice, and a consistent sign for each change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from plain_words import found_in, signs_in

from bench.stats.table_verdicts import FASTER, SLOWER

TEXTS = ("*.md", "action.yml", "docs/*.md", "scripts/*.sh", "services/*.toml", "examples/**/*.md")
PUBLISHED = "results/published/*.md"
SOURCES = (
    "bench/**/*.py",
    "bench/**/*.toml",
    "bench/**/*.jinja",
    "bench/**/app/*.js",
    "calibration/*.py",
    "driver/**/*.py",
)
REPORTS = sorted(Path("results/published").glob("*/report.md"))
AGAINST = re.compile(r"(CPU|requests/s) against the one above")
STEP = re.compile(r"(\S+) is (faster|slower) than (\S+?): it (needs|served) ([\d.,]+) % (more|less|fewer)")


@pytest.mark.parametrize("pattern", [*TEXTS, PUBLISHED, *SOURCES])
def test_texts_are_plain(pattern: str) -> None:
    files = [path for path in Path().glob(pattern) if "results" not in path.parts or pattern.startswith("results")]
    found = {str(path): words for path in files if (words := found_in(path.read_text(encoding="utf-8")))}
    # The changelog quotes old texts.
    found.pop("CHANGELOG.md", None)
    assert files and not found


@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.parent.name)
def test_published_reports_are_plain(report: Path) -> None:
    """Except for the title and causes of failures, which stay as they were when the run was made."""
    title, text = report.read_text(encoding="utf-8").split("\n", 1)
    assert title.startswith("# ")
    assert not found_in(text.replace("its last words:", ""))


def steps_of(text: str) -> Iterator[tuple[str, str, str, str]]:
    """(metric, release, change, verdict) of each row of a ladder."""
    metric, places = "", []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if head := AGAINST.search(line):
            metric, places = head[1], cells
        elif not line.startswith("|"):
            metric = ""
        elif metric and "verdict" in places and cells[places.index("verdict")] in (FASTER, SLOWER):
            changed = cells[places.index(f"{metric} against the one above")]
            yield metric, cells[0], changed, cells[places.index("verdict")]


@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.parent.name)
def test_a_step_has_one_sign_in_its_row_and_its_sentence(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    said = {(new, verdict): (size, more) for new, verdict, _, _, size, more in STEP.findall(text.partition("## ")[2])}
    for metric, release, changed, verdict in steps_of(text):
        rises = changed.startswith("+")
        assert rises == ((metric == "CPU") == (verdict == SLOWER)), (release, changed, verdict)
        _, more = said[release, verdict]
        assert rises == (more == "more"), (release, changed, more)


def test_the_ladder_has_steps() -> None:
    """So that the test above tests something."""
    text = Path("results/published/gunicorn-ladder/report.md").read_text(encoding="utf-8")
    assert [release for _, release, _, _ in steps_of(text)] == ["27.0.1"]


@pytest.mark.parametrize("report", REPORTS, ids=lambda path: path.parent.name)
def test_what_is_worse_than_the_best_has_one_sign(report: Path) -> None:
    tables = re.split(r"\n\n+", report.read_text(encoding="utf-8"))
    lines = [[[cell.strip() for cell in line.strip("|").split("|")] for line in one.splitlines()] for one in tables]
    assert not [text for head, *rows in lines for text in signs_in(head, rows[1:])]

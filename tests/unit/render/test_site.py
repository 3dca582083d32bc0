"""The front page of published runs: its answers, its accessibility, and that it needs nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_browser import Opened

from bench.render.site import Answer, PublishedRun, front_page, topics
from bench.run.facts import RunFacts
from bench.words.setup import machine_words

pytest_plugins = ["page_fixtures"]

JSON = Answer("Which server?", "Instant responses (json)", "wrk, 16 connections", "a is fastest.", 8, False)
WAIT = replace(JSON, load="Every response waits for 20 ms (delay-20)", sentence="b and c are equal.", waits=True)
VERSIONS = replace(JSON, question="Which package version for uvicorn-asgi?", services=10)


def run(name: str, day: int, *answers: Answer, checked: str = "") -> PublishedRun:
    return PublishedRun(
        name=name,
        title=f"Title of {name}",
        started=f"202611{day:02}-120000-all",
        machine="AMD EPYC, 2 cores",
        answers=answers,
        checked=checked,
    )


RUNS = (
    run("old", 20, JSON, WAIT),
    run("new", 24, replace(JSON, sentence="d is fastest.", services=177)),
    run("versions", 22, VERSIONS, replace(VERSIONS, level="wrk, 1 connection", sentence="No winner.")),
    run("check-1", 21, JSON),
    run("check-2", 23, JSON, checked="| figure | truth |\n| p99 | 900 ms |"),
    run("alone", 23),
)


def loads(runs: Sequence[PublishedRun]) -> list[tuple[str, str, str, list[str]]]:
    """(question, load, run of the newest answer, runs of the others)."""
    return [
        (question, load.words, load.newest.run.name, [one.run.name for one in load.others])
        for question, loads in topics(sorted(runs, key=lambda one: one.started, reverse=True)).items()
        for load in loads
    ]


def test_the_newest_answer_of_each_load_comes_first_and_the_question_about_the_most_services() -> None:
    assert loads(RUNS[:3]) == [
        ("Which server?", JSON.load, "new", ["old"]),
        ("Which server?", WAIT.load, "old", []),
        (VERSIONS.question, JSON.load, "versions", []),
    ]


def test_the_front_page() -> None:
    page = front_page(RUNS)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index("<main") :]))
    assert "Instant responses (json) d is fastest. 2026-11-24 , 177 services, AMD EPYC, 2 cores: new 1 more" in text
    assert "wrk, 1 connection No winner." in text
    asked, checks = text.split("Self-tests: can", 1)
    # Repetitions of a self-test are listed with it; a run without an answer is listed there, too.
    assert "check" not in asked and "alone" not in asked
    assert "new: raw.tar.xz" in checks.split("Files of 6 runs")[1]
    assert checks.index("Title of check-2") < checks.index("check-1") < checks.index("Title of alone")
    assert "| p99 | 900 ms |" in checks
    assert "No run has been published yet" in front_page([])


def test_text_of_a_run_stays_text() -> None:
    hit = "<img src=x onerror=hit>\u202e"
    page = front_page([run("hostile", 1, replace(JSON, question=hit, load=hit, sentence=hit))])
    assert "<img" not in page and "&lt;img src=x onerror=hit&gt;⟨U+202E⟩" in page


@pytest.mark.parametrize(
    ("cpu", "words"),
    [
        ("Intel(R) Xeon(R) Processor", "Intel Xeon, 2 cores"),
        ("AMD EPYC", "AMD EPYC, 2 cores"),
        (None, "CPU unknown, 2 cores"),
    ],
)
def test_a_machine_in_words(cpu: str | None, words: str) -> None:
    assert machine_words(RunFacts(host={"cpu": cpu, "cpus": 2})) == words


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("site") / "index.html"
    file.write_text(front_page(RUNS))
    return file


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_and_a_phone_shows_all_of_it(front: Path, opened: Opened, dark: bool) -> None:
    for width in (1280, 390):
        page = opened(front, width=width, dark=dark)
        page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
        found = Axe().run(page).response["violations"]
        assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") != dark


def test_the_keyboard_leads_to_the_answers_and_a_question_to_its_section(front: Path, opened: Opened) -> None:
    page = opened(front, java_script_enabled=False)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**#questions")
    page.get_by_role("link", name=VERSIONS.question).click()
    assert page.locator("section:target h2").inner_text() == VERSIONS.question

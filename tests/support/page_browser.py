"""Helpers for tests that open index.html in a browser: build the page and read what it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page

from bench.cli.report import build_verb

CHARTS = ("ranked", "latency", "costs", "heat", "timeline")
MOST_BYTES = 3_000_000
Opened = Callable[..., Page]


def built(folder: Path) -> Path:
    build_verb([str(folder)])
    return folder / "index.html"


def draw_all(page: Page) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")


def rows(page: Page) -> Locator:
    return page.locator("#rows > tbody > tr:not(.opened)")


def column(page: Page, name: str) -> list[str]:
    names = [text.strip() for text in page.locator("#rows > thead th").all_inner_texts()]
    return rows(page).locator(f"td:nth-child({names.index(name) + 1})").all_inner_texts()


def choose(page: Page, filter: str, *values: str) -> None:
    """Selects values of a filter, in addition to those already selected."""
    choice = page.locator(f"#filter-{filter}")
    if choice.get_attribute("open") is None:
        choice.locator("summary").click()
    for value in values:
        choice.get_by_role("checkbox", name=value, exact=True).check()
    choice.locator("summary").press("Escape")

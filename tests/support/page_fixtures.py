"""Fixtures for tests that open index.html in a browser; these load this file as a pytest plugin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import ARGUMENTS, CHROMIUM
from page_browser import Opened, built
from page_run import write
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from waiting import HANGS_S

expect.set_options(timeout=HANGS_S * 1000)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    # The user that runs the tests may have no home directory.
    environment = {**os.environ, "HOME": str(tmp_path_factory.mktemp("home"))}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, env=environment)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(write(tmp_path_factory.mktemp("page") / "a-run"))


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens a page from disk; afterwards checks that it requested no other file and logged nothing."""
    requested: list[str] = []
    logged: list[str] = []
    contexts: list[BrowserContext] = []
    files: set[str] = set()

    def open_page(file: Path, fragment: str = "", width: int = 1200, dark: bool = False, **more: Any) -> Page:
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(HANGS_S * 1000)
        page.on("request", lambda request: requested.append(request.url))
        page.on("console", lambda message: logged.append(message.text))
        page.on("pageerror", lambda error: logged.append(str(error)))
        files.add(f"file://{file}")
        page.goto(f"file://{file}{fragment}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert logged == []
    assert {url.partition("#")[0] for url in requested} <= files

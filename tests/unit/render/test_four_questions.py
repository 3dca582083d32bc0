"""Four questions of people who know none of this project's words, each answered within two clicks or one command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_browser import Opened
from places import ROOT
from playwright.sync_api import Locator, Page

from bench.cli.report import write_pages

pytest_plugins = ["page_fixtures"]


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_pages(folder)
    return folder / "index.html"


def followed(opened: Opened, place: Path, link: Locator) -> tuple[Page, Path]:
    """The page that a link leads to, and where it is."""
    target = (place.parent / str(link.get_attribute("href"))).resolve()
    return opened(target), target


def test_which_server_for_my_fastapi_app(front: Path, opened: Opened) -> None:
    page, _ = followed(opened, front, opened(front).get_by_role("link", name="fastapi", exact=True))
    first = page.locator("table").first
    assert page.locator("h1").inner_text() == "FastAPI"
    assert first.locator("thead").inner_text().split("\t")[2:4] == ["requests/s", "CPU per request"]
    served = [int(text.replace(",", "")) for text in first.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert len(served) >= 8 and served == sorted(served, reverse=True)
    # Or a pick in the finder, whose links lead to what is there.
    page = opened(front, "#framework=fastapi")
    rows = page.locator("#finder-results table").first.locator("tbody tr")
    cheapest = [float(text.split()[0].replace(",", "")) for text in rows.locator("td:nth-child(3)").all_inner_texts()]
    assert len(cheapest) >= 4 and cheapest == sorted(cheapest)
    links = page.locator("#finder-results a").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    assert not [link for link in links if not (front.parent / link.partition("#")[0]).is_file()]
    # Or one command of the README, on one's own machine.
    assert "./scripts/matrix.sh --app ./shop main:app" in (ROOT / "README.md").read_text()


def test_gunicorn_or_uvicorn_at_a_deploy(front: Path, opened: Opened) -> None:
    page = opened(front)
    page.get_by_role("link", name="What is lost at a deploy, a crash or an overload?").click()
    page, _ = followed(opened, front, page.get_by_role("link", name="bad-day", exact=True).first)
    heads = page.locator("table.heat thead th").all_inner_texts()
    row = page.locator("table.heat tr").filter(has=page.get_by_role("rowheader", name="reload, keep-alive", exact=True))
    lost = dict(zip(heads, row.locator("th, td").all_inner_texts(), strict=True))
    assert re.fullmatch(r"0|<? ?[\d.]+ %", lost["gunicorn-sync-wsgi"])
    assert re.fullmatch(r"0|<? ?[\d.]+ %", lost["uvicorn-asgi"])


def test_is_a_release_slower(front: Path, opened: Opened) -> None:
    page, place = followed(opened, front, opened(front).get_by_role("link", name="gunicorn-sync", exact=True))
    releases = page.locator("section").filter(has=page.get_by_role("heading", name="Releases"))
    names = releases.locator("tbody td:nth-child(2)").all_inner_texts()
    assert {"gunicorn 25.3.0", "gunicorn 27.0.1"} <= {*names}, names
    ladder, _ = followed(opened, place, releases.get_by_role("link", name="The run's page").first)
    assert re.search(r"27\.0\.1 is (slower|faster) than 25\.3\.0: it (served|needs) ", ladder.content())


def test_how_to_add_a_server() -> None:
    readme = (ROOT / "README.md").read_text()
    (row,) = re.findall(r"^\| How do I add a server\? \| `(.+)` \| \[.+\]\((.+)\) \|$", readme, re.MULTILINE)
    command, page = row
    assert command == "./scripts/scaffold.sh server NAME"
    assert re.search(r"^scripts/scaffold\.sh .*server NAME", (ROOT / page).read_text(), re.MULTILINE)

"""The site's pages of servers and frameworks: places from published runs, permanent addresses, links."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_browser import Opened
from places import ROOT

from bench.cli.report import write_pages
from bench.matrix.load import load_matrix
from bench.render.site_pages import Happened, Placing, framework_page, happenings, newest, placings, server_page
from bench.run.facts import RunFacts, RunService

pytest_plugins = ["page_fixtures"]
MATRIX = load_matrix()
FACTS = RunFacts(
    run="20261124-120000-all",
    knobs={"WORKERS": "1", "SERVER_CPUS": "0"},
    host={"cpu": "AMD EPYC", "cpus": 2},
    services={
        name: RunService(stack=name, server=server, framework=framework, python="3.13")
        for name, server, framework in (
            ("a", "uvicorn", "fastapi"),
            ("b", "hypercorn", "fastapi"),
            ("c", "uvicorn", "asgi"),
        )
    },
)
LINES = [
    {"kind": "service", "scenario": "json", "tool": "wrk", "level": "c16", "service": name, "label": name, "rank": rank}
    | {"tier": 1, "goodput": {"mean": 1000.0 / (rank or 1)}, "cpu_us": {"mean": 10.0}, "memory_loaded_bytes": 5_000_000}
    for name, rank in (("a", 1), ("b", 2), ("c", None))
]
EVENT = {
    "kind": "event",
    "event": "killed",
    "case": "",
    "service": "a",
    "kind_of_cell": "counted",
    "words": "lost 3 of 9",
}


def test_a_place_is_that_among_the_ranked_services_of_its_table() -> None:
    first, second = placings("all", FACTS, LINES)
    assert first.figures == ("1 of 2, tier 1", "1,000", "10.0 µs", "5.00 MB")
    assert (second.server, second.load) == ("hypercorn", "json, wrk, 16 connections")
    assert first.condition == "One worker on one CPU of AMD EPYC, 2 cores; Python 3.13; 2026-11-24."


def test_the_newest_run_places_a_service_under_a_load() -> None:
    old, *_ = placings("old", FACTS, LINES)
    new = replace(old, run="new", started="20261124-120001-all")
    other = replace(old, load="delay-20, wrk, 16 connections")
    assert newest([new, old, other]) == newest([old, other, new])
    assert {one.run for one in newest([new, old]) if one.load == old.load} == {"new"}


def test_a_servers_page_says_how_it_starts_where_it_stands_and_what_events_did() -> None:
    page = server_page(
        MATRIX.servers["uvicorn"], "#!/bin/sh\nexec uvicorn", placings("all", FACTS, LINES), [happened()]
    )
    text = re.sub(r"<[^>]+>", " ", page)
    for words in ("exec uvicorn", "1 of 2, tier 1", "killed", "lost 3 of 9", "Keep-alive timeout"):
        assert words in text
    # The link to a run of events shows only this server's row of the heat map.
    assert "hypercorn" not in text and 'href="../all/index.html#service=a"' in page


def happened() -> Happened:
    (found,) = happenings("all", FACTS, [EVENT, EVENT | {"kind_of_cell": "not valid"}])
    return found


def test_a_frameworks_page_has_its_servers_the_best_first() -> None:
    page = framework_page(MATRIX.frameworks["fastapi"], placings("all", FACTS, LINES[:2][::-1]))
    assert page.index("<td>a</td>") < page.index("<td>b</td>")


def test_text_of_a_run_stays_text() -> None:
    hit = "<img src=x onerror=hit>"
    found: list[Placing] = [replace(one, load=hit, service=hit, run=hit) for one in placings("all", FACTS, LINES)]
    page = server_page(MATRIX.servers["uvicorn"], hit, found, [replace(happened(), words=hit, event=hit)])
    assert "<img" not in page


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_pages(folder)
    return folder


def test_no_address_of_a_page_is_ever_taken_away(site: Path) -> None:
    kept = (ROOT / "tests/support/site_addresses.txt").read_text().split()
    assert len(kept) > 50 and [address for address in kept if not (site / address).is_file()] == []


def test_every_link_of_the_site_leads_to_a_file(site: Path) -> None:
    pages = [site / "index.html", *site.glob("servers/*.html"), *site.glob("frameworks/*.html")]
    links = [(page, link) for page in pages for link in re.findall(r'href="([^"#]+)[#"]', page.read_text())]
    assert len(links) > 500
    broken = [
        (page.name, link) for page, link in links if not re.match(r"data:", link) and not (page.parent / link).exists()
    ]
    assert broken == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("address", ["servers/uvicorn.html", "frameworks/fastapi.html"])
def test_a_page_of_the_site_is_accessible_and_fits(site: Path, opened: Opened, address: str, width: int) -> None:
    page = opened(site / address, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert Axe().run(page).response["violations"] == []


def test_the_front_page_is_small(site: Path) -> None:
    assert (site / "index.html").stat().st_size <= 300_000

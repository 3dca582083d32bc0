"""The finder on the site's front page: what counts as held, failed or never measured; its controls and its address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_browser import Opened
from playwright.sync_api import Page, expect

from bench.core.service_settings import Settings
from bench.matrix.load import load_matrix
from bench.render.finder import Trait, finder_data, traits
from bench.render.site import front_page
from bench.render.site_pages import placings
from bench.run.facts import RunFacts, RunService

pytest_plugins = ["page_fixtures"]
MATRIX = load_matrix()
LOAD = "json, wrk, 16 connections"
CANNOT = {"kind_of_cell": "cannot", "lost": None, "sent": None, "figures": None}


def facts(day: int, cpu: str, **of_hypercorn: Any) -> RunFacts:
    """Uvicorn, Hypercorn and Granian with FastAPI."""
    of_server: dict[str, dict[str, Any]] = {"uvicorn": {}, "granian-asgi": {}, "hypercorn": of_hypercorn}
    return RunFacts(
        run=f"202611{day}-120000-all",
        knobs={"WORKERS": "1", "SERVER_CPUS": "0"},
        host={"cpu": cpu, "cpus": 2},
        services={
            name: RunService(stack=f"{name}-fastapi", server=name, framework="fastapi", python="3.13", **more)
            for name, more in of_server.items()
        },
    )


def place(service: str, rank: int, cpu: float, megabytes: float | None = None) -> dict[str, Any]:
    table = {"kind": "service", "scenario": "json", "tool": "wrk", "level": "c16", "service": service, "rank": rank}
    cpu_us = {"mean": cpu, "low": cpu - 1, "high": cpu + 1}
    memory = None if megabytes is None else int(1e6 * megabytes)
    return table | {"label": f"{service}-fastapi", "cpu_us": cpu_us, "memory_loaded_bytes": memory}


def p99(service: str, rate: int, mean: float | None, at_most: float | None = None) -> dict[str, Any]:
    load = {"kind": "latency", "scenario": "json", "table": "wrk c16", "tool": "vegeta", "level": "share50"}
    return load | {"judge": "p99", "service": service, "rate": rate, "mean": mean, "at_most": at_most}


def happened(service: str, event: str = "reload", case: str = "", **more: Any) -> dict[str, Any]:
    cell = {"kind": "event", "event": event, "case": case, "service": service, "kind_of_cell": "counted"}
    return cell | {"lost": 0, "sent": 100, "figures": {}} | more


OLD = (
    facts(20, "AMD EPYC"),
    [
        place("hypercorn", 1, 10),
        place("uvicorn", 2, 20, 50),
        p99("uvicorn", 500, 0.001),
        p99("uvicorn", 1000, 0.003),
        p99("hypercorn", 1000, None),
    ],
)
NEW = (
    facts(24, "Intel Xeon"),
    [
        place("uvicorn", 1, 30, 60),
        place("granian-asgi", 2, 25, 40),
        p99("granian-asgi", 1000, None, 0.009),
        happened("uvicorn", lost=2),
        happened("granian-asgi"),
        happened("hypercorn", **CANNOT),
        happened("uvicorn", "idle-close", figures={"idle_s": [5.0]}),
        happened("granian-asgi", "idle-close", figures={"idle_s": [1e-6]}),
    ],
)


def data(**runs: tuple[RunFacts, list[dict[str, Any]]]) -> dict[str, Any]:
    placed = [one for name, run in runs.items() for one in placings(name, *run)]
    return finder_data(MATRIX, placed, [one for name, run in runs.items() for one in traits(name, *run)])


def test_the_newest_run_comes_first_and_p99_is_at_the_highest_common_rate() -> None:
    rows = data(old=OLD, new=NEW)["rows"]
    p99 = [row["p99"] and (row["p99"]["seconds"], row["p99"]["at_most"]) for row in rows]
    assert [(row["run"], row["server"], own) for row, own in zip(rows, p99, strict=True)] == [
        ("new", "uvicorn", None),
        ("new", "granian-asgi", (0.009, True)),
        ("old", "hypercorn", None),
        ("old", "uvicorn", (0.003, False)),
    ]
    assert (rows[0]["load"], rows[0]["table"], rows[0]["more"]) == (LOAD, "scenario=json&tool=wrk", "")


def test_a_release_or_a_setting_is_not_what_a_reader_gets_from_the_server() -> None:
    variants: list[dict[str, Any]] = [{"package": "hypercorn==0.17"}, {"settings": Settings({"WORKERS": "2"})}]
    for variant in variants:
        found = data(a=(facts(25, "AMD EPYC", **variant), [place("hypercorn", 1, 10), happened("hypercorn")]))
        assert found["rows"] == [] and "reload" not in found["servers"]["hypercorn"]


@pytest.mark.parametrize(
    ("cells", "holds", "words"),
    [
        ([happened("uvicorn"), happened("uvicorn", case="new connections")], True, "lost 0 of 200"),
        ([happened("uvicorn", lost=1), happened("uvicorn", **CANNOT)], False, "lost 1 of 100 in 1 of 2 cases"),
        ([happened("uvicorn"), happened("uvicorn", kind_of_cell="not seen")], None, "lost 0 of 100 in 1 of 2 cases"),
        ([happened("uvicorn", **CANNOT)], None, "not supported"),
        ([happened("uvicorn", "idle-close", figures={"idle_s": [4.9, 5.2]})], True, "closes them after 5 s"),
        ([happened("uvicorn", "idle-close", figures={"idle_s": [1e-6]})], False, "closes them after each response"),
        ([happened("uvicorn", "idle-close", figures={"held": [32]})], True, "closes none while watched"),
        ([happened("uvicorn", "idle-close", kind_of_cell="failed", figures=None)], None, "not counted"),
    ],
)
def test_a_case_without_counts_is_neither_held_nor_failed(
    cells: list[dict[str, Any]], holds: bool | None, words: str
) -> None:
    (trait,) = traits("a-run", NEW[0], cells)
    assert (trait.server, trait.holds, trait.words) == ("uvicorn", holds, words)


def test_of_events_the_newest_run_that_counted_them_says_what_a_server_does() -> None:
    days = {"20261120": False, "20261124": True, "20261128": None}
    shown = [Trait(day, day, "", "uvicorn", "reload", holds, "") for day, holds in days.items()]
    for order in (shown, shown[::-1]):
        assert finder_data(MATRIX, [], order)["servers"]["uvicorn"]["reload"]["run"] == "20261124"


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("finder") / "index.html"
    file.write_text(front_page([], finder=data(old=OLD, new=NEW)))
    return file


def tables(page: Page) -> list[tuple[str, list[str]]]:
    """(the run that a table is of, its servers in order)."""
    runs = page.locator("#finder-results > h3 + .source a").all_inner_texts()
    servers = [one.locator("tbody td:first-child").all_inner_texts() for one in page.locator("#finder table").all()]
    return [*zip(runs, servers, strict=True)]


def never(page: Page) -> dict[str, str]:
    """Names of services by what was never measured of them."""
    page.evaluate("document.querySelectorAll('#finder-results li details').forEach(one => (one.open = true))")
    items = [text.partition("\n") for text in page.locator("#finder-results li").all_inner_texts()]
    return {re.sub(r" \(\d+\)$", "", what): names.strip() for what, _, names in items}


def test_figures_of_two_machines_are_never_in_one_order(front: Path, opened: Opened) -> None:
    page = opened(front)
    page.get_by_label("Framework").select_option(label="FastAPI")
    # Uvicorn held in both: it is missing from no comparison, but counts once.
    assert tables(page) == [("new", ["granian-asgi", "uvicorn"]), ("old", ["hypercorn", "uvicorn"])]
    assert "Intel Xeon" in page.locator("#finder-results .source").first.inner_text()
    link = page.locator("#finder-results .source a").first.get_attribute("href")
    assert link == "new/index.html#framework=fastapi&scenario=json&tool=wrk"
    expect(page.get_by_role("status")).to_have_text("Held: 3, in 2 tables, the cheapest first. Not held: 0.")
    assert "gunicorn-uvicorn with FastAPI" in never(page)["any figure, in the locked version with default settings"]


@pytest.mark.parametrize(
    ("pick", "held", "missing"),
    [
        # The newest run with a p99 of Uvicorn; a bound above the limit is no figure.
        ("p99=5", ([("old", ["uvicorn"])], 0), ("p99", f"Under {LOAD}: granian-asgi, hypercorn")),
        ("p99=9", ([("new", ["granian-asgi"]), ("old", ["uvicorn"])], 0), ("p99", f"Under {LOAD}: hypercorn")),
        ("p99=2", ([], 1), ("p99", f"Under {LOAD}: granian-asgi, hypercorn")),
        # In its newest run Uvicorn needs more: that an earlier one would do does not count.
        ("memory=55", ([("new", ["granian-asgi"])], 1), ("memory", f"Under {LOAD}: hypercorn")),
        ("reload=yes", ([("new", ["granian-asgi"])], 1), ("what a reload loses", "hypercorn (not supported)")),
        ("keeps=yes", ([("new", ["uvicorn"])], 1), ("whether it keeps connections", "hypercorn")),
    ],
)
def test_what_was_never_measured_is_neither_held_nor_failed(
    front: Path, opened: Opened, pick: str, held: tuple[list[Any], int], missing: tuple[str, str]
) -> None:
    page = opened(front, f"#framework=fastapi&{pick}")
    assert tables(page) == held[0]
    assert page.get_by_role("status").inner_text().endswith(f"Not held: {held[1]}.")
    assert never(page)[missing[0]].replace(" with FastAPI", "") == missing[1]


def test_the_address_keeps_the_pick_and_a_link_to_a_section_does_not_drop_it(front: Path, opened: Opened) -> None:
    page = opened(front)
    assert page.get_by_role("status").inner_text() == "Pick a framework or a limit."
    page.get_by_label("p99 at most").fill("9")
    page.get_by_label("Loses nothing").select_option("yes")
    address = page.url
    assert address.endswith("#p99=9&reload=yes") and tables(page) == [("new", ["granian-asgi"])]
    row = page.locator("#finder-results tbody tr").inner_text()
    assert "≤ 9.00 ms at 1,000/s" in row and "lost 0 of 100" in row
    page.goto("about:blank")
    page.goto(address)
    assert page.get_by_label("p99 at most").input_value() == "9" and len(tables(page)) == 1
    page.evaluate("location.hash = 'finder'")
    assert len(tables(page)) == 1
    page.evaluate("location.hash = 'p99=2'")
    expect(page.get_by_label("Loses nothing")).to_have_value("")
    assert tables(page) == []


def test_the_keyboard_picks(front: Path, opened: Opened) -> None:
    page = opened(front)
    page.get_by_label("Framework").focus()
    page.keyboard.type("FastAPI")
    page.keyboard.press("Tab")
    page.keyboard.type("9")
    assert page.url.endswith("#framework=fastapi&p99=9") and len(tables(page)) == 2


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_a_phone_shows_all_of_it(front: Path, opened: Opened, width: int, dark: bool) -> None:
    page = opened(front, "#framework=fastapi&keeps=yes", width=width, dark=dark)
    assert len(tables(page)) == 1
    never(page)
    assert Axe().run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_the_finder_says_where_the_figures_are(front: Path, opened: Opened) -> None:
    page = opened(front, java_script_enabled=False)
    assert "needs JavaScript" in page.locator("#finder").inner_text()
    assert not page.get_by_label("Framework").is_visible()


def test_text_of_a_run_stays_text(tmp_path: Path, opened: Opened) -> None:
    hit = "</script><img src=x onerror=hit>"
    lines = [place("uvicorn", 1, 30) | {"label": hit}]
    file = tmp_path / "index.html"
    file.write_text(front_page([], finder=data(new=(facts(24, hit), lines))))
    page = opened(file, "#framework=fastapi")
    assert page.locator("#finder-results").inner_text().count(hit) == 2 and page.locator("img").count() == 0

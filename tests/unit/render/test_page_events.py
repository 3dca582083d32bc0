"""The page of a run of events: its table on the first screen, and the timeline that opens from a cell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from event_runs import GROWN, bad_day, event, every_event, write_events
from page_browser import Opened, built, choose
from playwright.sync_api import Locator, Page, expect

from bench.plan.events import EVENTS
from bench.records.event import EventRecord, GrowthSample

pytest_plugins = ["page_fixtures"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(write_events(tmp_path_factory.mktemp("page") / "a-bad-day", bad_day()))


@pytest.mark.parametrize("width", [1280, 390])
def test_the_table_is_on_the_first_screen_and_a_cell_opens_to_its_timeline(
    made: Path, opened: Opened, width: int
) -> None:
    page = opened(made, width=width)
    table = page.locator("table.heat")
    box = table.bounding_box()
    assert box and box["y"] < 600
    # Only the table scrolls sideways, never the page.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cell = table.get_by_role("button", name="lost 42 of 7,000")
    assert cell.get_attribute("aria-expanded") == "false" and page.locator("#event").is_hidden()
    cell.click()
    panel = page.locator("#event")
    expect(panel.locator("h3")).to_have_text("reload, keep-alive: gunicorn")
    assert "HUP starts new workers" in panel.inner_text()
    assert "round 7 (worst)" in panel.locator("option:checked").inner_text()
    assert panel.get_by_role("img").first.get_attribute("aria-label") == (
        "Timeline of round 7: 9 failed requests from 3.00 to 3.40 s; SIGHUP to the main process at 3.00 s."
    )
    assert panel.locator("svg").count() == 2
    assert {"reset": "9", "sent": "1,000", "client timeout": "5 s"}.items() <= facts(panel.locator("dl")).items()
    panel.get_by_role("combobox", name="Round").select_option(label="round 1")
    assert facts(panel.locator("dl"))["reset"] == "3"
    if folder := os.environ.get("PAGE_PICTURES"):
        page.screenshot(path=f"{folder}/events-{width}.png", full_page=True)
    assert Axe().run(page).response["violations"] == []
    cell.click()
    assert panel.is_hidden()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(write_events(tmp_path_factory.mktemp("page") / "every-event", every_event()))


TAB_STOPS = """() => [...document.querySelectorAll("a[href], button, summary, input, select, [tabindex]")]
    .filter((one) => one.tabIndex >= 0 && one.checkVisibility()).length"""


@pytest.mark.parametrize("width", [1280, 390])
def test_eight_servers_under_every_event_are_a_heat_map_that_fits(whole: Path, opened: Opened, width: int) -> None:
    page = opened(whole, width=width)
    box, table = page.locator(".events-box").first, page.locator("table.heat")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(TAB_STOPS) <= 60
    if width == 1280:
        assert box.evaluate("one => one.scrollWidth <= one.clientWidth")
        assert max(table.locator("tr").evaluate_all("rows => rows.slice(1).map((row) => row.offsetHeight)")) <= 40
    box.evaluate("one => one.scrollTo(500, 300)")
    place = box.bounding_box()
    name, head = (
        table.locator("tbody th[scope=row]").nth(20).bounding_box(),
        table.locator("thead th").nth(5).bounding_box(),
    )
    assert place and name and head
    # The event and server of a cell stay visible.
    assert abs(name["x"] - place["x"]) < 2 and abs(head["y"] - place["y"]) < 2
    assert name["width"] <= width * 0.36
    if folder := os.environ.get("PAGE_PICTURES"):
        page.screenshot(path=f"{folder}/every-event-{width}.png")


def test_a_darker_cell_lost_more_and_arrows_lead_from_cell_to_cell(made: Path, opened: Opened) -> None:
    page = opened(made)
    shown = page.locator("table.heat td[class]").evaluate_all("all => all.map((one) => [one.className, one.innerText])")
    assert {tuple(one) for one in shown} >= {("sev0", "0"), ("sev2", "0.6 %"), ("sev4", "gone")}
    first = page.locator("table.heat button").first
    first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.parentNode.cellIndex") == 2
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#event")).to_be_visible()
    assert page.url.rpartition("#")[2].startswith("event=")


def test_the_address_of_a_page_has_the_cell_that_is_open(made: Path, opened: Opened) -> None:
    page = opened(made)
    page.get_by_role("button", name="lost 42 of 7,000").click()
    expect(page.locator("#event h3")).to_have_text("reload, keep-alive: gunicorn")
    address = page.url
    # By names, which are those of the same cell in another run.
    assert address.endswith("#event=reload-keep-alive&on=gunicorn")
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#event h3")).to_have_text("reload, keep-alive: gunicorn")


def test_servers_and_questions_that_are_chosen_stay_in_the_address(whole: Path, opened: Opened) -> None:
    page = opened(whole)
    heads = page.locator("table.heat thead th:visible")
    choose(page, "question", "Crash", "Overload")
    choose(page, "service", "uvicorn", "granian")
    assert heads.all_inner_texts() == ["event", "uvicorn", "granian"]
    assert page.locator("table.heat tr.question:visible").all_inner_texts() == ["Crash", "Overload"]
    assert page.url.endswith("#service=uvicorn&service=granian&question=Crash&question=Overload")
    # The tab key stops at the first cell that is shown, and arrows pass over those that are not.
    stop = page.locator('table.heat button[tabindex="0"]')
    assert stop.count() == 1 and stop.get_attribute("data-on") == "uvicorn"
    stop.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.on") == "granian"
    page.keyboard.press("Enter")
    expect(page.locator("#event h3")).to_contain_text(": granian")
    address = page.url
    assert address.endswith("&on=granian") and "&event=" in address
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#event h3")).to_contain_text(": granian")
    assert heads.all_inner_texts() == ["event", "uvicorn", "granian"]
    assert page.locator("#filter-service summary").inner_text() == "Server: 2 of 8"
    page.get_by_role("button", name="Show all").click()
    assert heads.count() == 9 and page.url.partition("#")[2].startswith("event=")
    page.evaluate("location.hash = 'question=Deploy'")
    expect(page.locator("#event")).to_be_hidden()
    assert page.locator("table.heat tr.question:visible").all_inner_texts() == ["Deploy"]
    assert Axe().run(page).response["violations"] == []


OPEN_ALL = """async (rows) => {
    const found = [], panel = document.getElementById("event");
    for (const row of rows) {
        const name = row.querySelector("th").innerText, until = performance.now() + 30000;
        row.querySelector("button").click();
        while (panel.querySelector("h3")?.innerText !== `${name}: gunicorn` && performance.now() < until)
            await new Promise((ready) => setTimeout(ready));
        const drawings = [...panel.querySelectorAll("svg")];
        const lines = drawings.at(-1)?.querySelectorAll("[stroke-dasharray] line, line[stroke-dasharray]");
        const title = panel.querySelector("h3")?.innerText;
        found.push({name, title, drawings: drawings.length, lines: lines?.length});
    }
    return found;
}"""


def test_a_cell_of_every_event_opens_to_its_timeline(whole: Path, opened: Opened) -> None:
    page = opened(whole)
    found = page.locator("table.heat tbody tr:has(button)").evaluate_all(OPEN_ALL)
    assert len(found) == sum(len(kind.cases) for kind in EVENTS.values())
    known = {"overload": 3, "rolling": 2, "slow": 7, "idle-close": 0}
    for cell in found:
        name = cell["name"]
        assert cell["title"] == f"{name}: gunicorn"
        assert cell["drawings"] == (3 if name.startswith("memory") else 2), name
        assert cell["lines"] == known.get(name.partition(",")[0], 1), name
    assert "at 3.00 s SIGTERM to container 1 (takes 2.20 s)" in open_cell(page, "rolling, behind nginx")
    assert "failed attempts: 3 no container left" in page.locator("#event").inner_text()


def open_cell(page: Page, name: str) -> str:
    row = page.locator("table.heat tbody tr").filter(has=page.get_by_role("rowheader", name=name, exact=True))
    row.get_by_role("button").first.click()
    expect(page.locator("#event h3")).to_have_text(f"{name}: gunicorn")
    return page.locator("#event").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_more_servers_than_fit_across_are_in_rows(tmp_path: Path, opened: Opened, width: int) -> None:
    names = [f"server-{number}" for number in range(13)]
    cases = [("reload", "keep-alive", 0), ("killed", "", 4), ("hung", "", 0)]
    records = [event(name, one, case, lost=lost) for name in names for one, case, lost in cases]
    page = opened(built(write_events(tmp_path / "every-server", records)), width=width)
    table = page.locator("table.heat")
    assert table.locator("tbody th").all_inner_texts() == names
    assert table.locator("thead th").all_inner_texts() == ["service", "reload, keep-alive", "killed", "hung"]
    row = table.locator("tbody tr").filter(has=page.get_by_role("rowheader", name="server-3", exact=True))
    row.get_by_role("button", name="lost 4 of").click()
    expect(page.locator("#event h3")).to_have_text("killed: server-3")
    assert page.url.endswith("#event=killed&on=server-3")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    choose(page, "question", "Deploy")
    choose(page, "service", "server-3")
    assert table.locator("th:visible").all_inner_texts() == ["service", "reload, keep-alive", "server-3"]
    assert Axe().run(page).response["violations"] == []


def facts(found: Locator) -> dict[str, str]:
    names, values = (found.locator(kind).all_inner_texts() for kind in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def test_a_cell_of_growth_opens_to_what_was_held(tmp_path: Path, opened: Opened) -> None:
    def memory(case: str, points: tuple[GrowthSample, ...], **extras: int) -> EventRecord:
        return event("uvicorn", "memory", case, timeline=(), points=points, extras=extras)

    files = tuple(GrowthSample(part, 40 + 2 * part) for part in range(21))
    records = [memory("requests", GROWN, requests=1_000_000, parts_s=130), memory("20 reloads", files, reloads=20)]
    page = opened(built(write_events(tmp_path / "growth", records)))
    page.get_by_role("button", name="grows 98 KB per 1,000 requests").click()
    drawing = page.locator("#event").get_by_role("img").first
    expect(drawing).to_have_attribute("aria-label", "Round 1, memory in MB by requests answered: from 40.0 to 130.")
    page.get_by_role("button", name="grows 2 descriptors a reload").click()
    words = "Round 1, open file descriptors by reloads: from 40.0 to 80.0."
    expect(page.locator("#event").get_by_role("img").first).to_have_attribute("aria-label", words)
    assert Axe().run(page).response["violations"] == []


def test_what_never_came_back_and_what_cannot_be_done_open_too(made: Path, opened: Opened) -> None:
    page = opened(made)
    page.get_by_role("button", name="never came back").first.click()
    panel = page.locator("#event")
    expect(panel).to_contain_text("it did not answer again")
    expect(panel).to_contain_text("loses more than gunicorn")
    page.get_by_role("button", name="not supported").first.click()
    expect(panel).to_contain_text("Not counted: Waitress has no reload")
    assert "there is no timeline of this round" in panel.inner_text()
    assert page.locator('[aria-expanded="true"]').count() == 1


def test_without_scripts_the_table_is_whole(made: Path, opened: Opened) -> None:
    page = opened(made, java_script_enabled=False)
    assert "gone" in page.locator("table.heat").inner_text()
    assert page.locator("table.events button").count() == 0


def test_text_of_a_service_is_text(tmp_path: Path, opened: Opened) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    records = [event(happened=False, happened_by=hostile, documented=hostile)]
    page = opened(built(write_events(tmp_path / "a-run", records)))
    page.get_by_role("button", name="no effect").click()
    expect(page.locator("#event")).to_contain_text(hostile)
    assert page.locator("img").count() == 0


def test_a_run_without_events_has_nothing_of_them(tmp_path: Path) -> None:
    page = built(write_events(tmp_path / "a-run", [])).read_text()
    assert not [words for words in ('id="events"', "#event {", 'class="event-part"', "events planned") if words in page]

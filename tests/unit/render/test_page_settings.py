"""Settings that were varied are a coordinate of the page: a column, a filter, in charts; CPU time by process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from make_run import entry, output_of, write_measurement, write_run
from page_browser import Opened, built, column, draw_all, rows

pytest_plugins = ["page_fixtures"]

VALUES = ("1", "8")


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Flask under gunicorn with one worker and with eight, three rounds."""
    folder = tmp_path_factory.mktemp("settings") / "a-run"
    plain = entry("gunicorn-sync-flask")["service"]
    lines = [
        entry("gunicorn-sync-flask", number=number, round=round, service=f"{plain}-workers{value}")
        | {"settings": f"WORKERS={value}", "dir": f"raw/r{round:02}/{plain}-workers{value}/json/wrk-c64"}
        for round in (1, 2, 3)
        for number, value in enumerate(VALUES, 1)
    ]
    services = {str(line["service"]): {"settings": line["settings"]} for line in lines}
    write_run(folder, lines, services=services)
    for line in lines:
        used = {"ticks_13": 560, "ticks_12": 540}
        write_measurement(folder, line, output_of(line, 1000 * int(line["settings"][-1])), after=used)
    return built(folder)


def test_settings_are_a_column_and_a_filter(varied: Path, opened: Opened) -> None:
    page = opened(varied)
    assert sorted(column(page, "Settings")) == ["WORKERS=1", "WORKERS=8"]
    page.select_option("#filter-settings", "WORKERS=8")
    assert column(page, "Settings") == ["WORKERS=8"]
    assert page.evaluate("location.hash") == "#settings=WORKERS%3D8"
    assert page.locator("#tables td:visible", has_text=re.compile("-workers1$")).count() == 0
    assert page.locator("#tables td:visible", has_text=re.compile("-workers8$")).count() > 0


def test_charts_name_the_settings(varied: Path, opened: Opened) -> None:
    page = opened(varied)
    draw_all(page)
    label = page.locator("#chart-ranked").inner_text()
    assert "gunicorn-sync · flask (WORKERS=8)" in label and "gunicorn-sync · flask (WORKERS=1)" in label


def test_a_measurements_details_have_its_processes(varied: Path, opened: Opened) -> None:
    page = opened(varied)
    rows(page).first.get_by_role("button").first.click()
    page.locator(".opened details.round summary").first.click()
    # Not wait_for_function: its second try is an eval in the page, which the page's own policy refuses.
    page.locator(".opened").get_by_text("CPU seconds by process").first.wait_for()
    told = page.locator(".opened").first.inner_text()
    assert re.search(r"settings\s+WORKERS=[18]", told)
    assert re.search(r"CPU seconds by process\s+5\.60, 0\.400", told)

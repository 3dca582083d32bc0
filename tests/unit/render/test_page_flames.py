"""The flame graphs of the page, in a browser."""

from __future__ import annotations

from pathlib import Path

from page_browser import Opened, built
from profiled_run import STACKS_OF, write_profiled

HOSTILE = "<img src=x onerror=window.hit=1> \u202e"

pytest_plugins = ["page_fixtures"]


def test_a_flame_graph_is_drawn_when_it_is_opened_and_names_stay_text(tmp_path: Path, opened: Opened) -> None:
    stacks = STACKS_OF | {"tornado": STACKS_OF["tornado"].replace("slow (", f"{HOSTILE} (")}
    page = opened(built(write_profiled(tmp_path / "a-run", stacks)))
    graphs = page.locator("#flames details")
    assert graphs.count() == 2 and page.locator("#flames svg").count() == 0
    assert (
        graphs.nth(1).locator("summary").inner_text().startswith("Flame graph of tornado-py313-debian, json wrk c16: ")
    )
    graphs.nth(1).locator("summary").click()
    names = page.locator("#flames svg g.frame title").all_text_contents()
    assert len(names) == 6
    assert any(name.startswith("app.py:handle: 60.0 %, 231 µs per request") for name in names)
    assert any(name.startswith("app.py:<img src=x onerror=window.hit=1> ⟨U+202E⟩: 27.0 %") for name in names)
    assert page.evaluate("window.hit") is None
    assert "app.py:handle 60.0 %" in (page.locator("#flames svg").get_attribute("aria-label") or "")
    # The first comparison is open, with the table that the report has.
    assert (
        page.locator("#why details").first.locator("table.report td").first.inner_text()
        == "app.py:<img src=x onerror=window.hit=1> ⟨U+202E⟩"
    )


def test_without_scripts_the_tables_of_functions_are_shown(tmp_path: Path, opened: Opened) -> None:
    page = opened(built(write_profiled(tmp_path / "a-run")), java_script_enabled=False)
    assert "app.py:slow" in page.locator("#why").inner_text()
    assert page.locator("#flames:visible").count() == 0

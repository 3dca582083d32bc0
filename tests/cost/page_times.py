"""Times a page in a browser: `python tests/cost/page_times.py FILE`, for scripts/harness-cost.sh.

Prints `first-picture=0,NS` (from the start of the navigation) and `interaction=0,NS` (from the event to the next
painted frame; the slowest of a filter, a sort, a search and opening a row). Each is the median of TRIES.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from chromium import ARGUMENTS, CHROMIUM
from playwright.sync_api import Page, sync_playwright

TRIES = 5
FIRST = "performance.getEntriesByName('first-picture')[0].startTime"
PAINTED = """async (act) => {
  const element = document.querySelector(act.selector);
  const begin = performance.now();
  if (act.value === undefined) element.click();
  else {
    element.value = act.value;
    element.dispatchEvent(new Event(act.event));
  }
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""
ACTS = (
    {"selector": "#filter-framework", "value": "flask", "event": "change"},
    {"selector": "#filter-framework", "value": "", "event": "change"},
    {"selector": "#rows button[data-sort='goodput']"},
    {"selector": "#find", "value": "sync", "event": "input"},
    {"selector": ".opener"},
)


def main(argv: list[str]) -> int:
    file = Path(argv[0]).resolve()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        environment: dict[str, str | float | bool] = {**os.environ, "HOME": home}
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, env=environment)
        first, worst = [], []
        for _ in range(TRIES):
            page: Page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.goto(f"file://{file}")
            first.append(page.evaluate(FIRST))
            worst.append(max(page.evaluate(PAINTED, act) for act in ACTS))
            page.close()
        browser.close()
    for name, milliseconds in (("first-picture", first), ("interaction", worst)):
        print(f"{name}=0,{round(statistics.median(milliseconds) * 1e6)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

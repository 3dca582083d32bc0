"""No test is skipped: the tests' image has all that they need, and a tool that is missing there is a failure.

Tests begin in the project's folder, from which it reads its own files.
"""

import os
from collections.abc import Generator
from typing import Any

import pytest
from places import ROOT

os.chdir(ROOT)
LONGEST = ("_away_for_long", "test_known_events.py", "test_published_runs.py", "unit/render/test_page")
"""Parts of the names of what waits, judges or draws for long: none of them may begin last."""
Reports = Generator[None, Any, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest come first."""
    items.sort(key=lambda item: next((at for at, part in enumerate(LONGEST) if part in item.nodeid), len(LONGEST)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Reports:
    """A skipped test has failed."""
    return fail_skipped((yield), item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Reports:
    """So has a module that is skipped as a whole."""
    return fail_skipped((yield), collector.nodeid)


def fail_skipped(report: Any, name: str) -> Any:
    """The report, as a failure where the test was skipped."""
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"{name}: {reason}: no test may be skipped in the tests' image"
    return report

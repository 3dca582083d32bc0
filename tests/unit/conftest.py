"""No test is skipped: the tests' image has all that they need, and a tool that is missing there is a failure.

Tests begin in the project's folder, from which it reads its own files.
"""

import os
from collections.abc import Generator
from typing import Any

import pytest
from places import ROOT

os.chdir(ROOT)
FIRST = ("test_published_runs.py", "unit/render/test_page")
"""Parts of the names of files that judge or draw for long."""
LAST = ("test_known_events.py", "test_known_growth.py", "unit/load/")
"""Of files that load servers: beside other stages of the tests they would have too little CPU. The longest begin first."""
Reports = Generator[None, Any, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long does not begin last, and what must not be late not first."""
    items.sort(key=lambda item: _place(item.nodeid))


def _place(name: str) -> int:
    order = (*FIRST, "", *LAST)
    return next((place for place, part in enumerate(order) if part and part in name), len(FIRST))


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

"""Skipped tests count as failures, because the tests' image has all tools that they need.

Tests run in the project's folder, because its code reads its own files from there.
"""

import os
from collections.abc import Generator
from typing import Any

import pytest
from places import ROOT
from programs import pretend

__all__ = ["pretend"]
os.chdir(ROOT)
LONGEST = ("_away_for_long", "test_known_events.py", "test_hold.py", "test_published_runs.py", "unit/render/test_page")
"""Parts of the names of slow tests, which must not start last: test_hold.py mostly waits."""
Reports = Generator[None, Any, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start slow tests first."""
    items.sort(key=lambda item: next((at for at, part in enumerate(LONGEST) if part in item.nodeid), len(LONGEST)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Reports:
    """Let skipped tests fail."""
    return fail_skipped((yield), item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Reports:
    """Let skipped modules fail."""
    return fail_skipped((yield), collector.nodeid)


def fail_skipped(report: Any, name: str) -> Any:
    """The report, as a failure if the test was skipped."""
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"{name}: {reason}: no test may be skipped in the tests' image"
    return report

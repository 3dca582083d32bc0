"""Goodput: the good responses' share of the tool's own rate."""

from __future__ import annotations

from pathlib import Path

import pytest
from built_runs import measured
from make_run import entry, output_of
from places import SAMPLES


def test_heys_rate_counts_requests_that_got_no_answer(tmp_path: Path) -> None:
    # 15 good responses to 20 requests, at 6.6594 requests/s.
    record = measured(tmp_path, entry(tool="hey"), (SAMPLES / "hey/timeouts-some.txt").read_text())
    assert (record.requests, record.attempts, record.successes) == (15, 20, 15)
    assert record.goodput == pytest.approx(6.6594 * 15 / 20)


@pytest.mark.parametrize("tool", ["wrk", "hey"])
def test_answers_with_an_error_status_are_no_part_of_it(tool: str, tmp_path: Path) -> None:
    record = measured(tmp_path, entry(tool=tool), output_of(entry(tool=tool), 4000, 5000))
    assert record.successes == 15_000
    assert record.goodput == pytest.approx(3000)

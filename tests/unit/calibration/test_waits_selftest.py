"""The self-test that finds services which wait although nothing asks them to."""

from __future__ import annotations

from pathlib import Path

import pytest
from built_runs import build
from make_run import entry, output_of, write_measurement, write_run

from bench.core.errors import UserError
from calibration.waits import Median, report, waits

QUICK = Median("quick", 1, 0.2e-3, 0.1e-3)
STALLED = Median("stalled", 1, 44e-3, 0.5e-3)


def test_a_median_that_cpu_time_explains_is_none() -> None:
    text, holds = report([(QUICK, "a"), (Median("quick", 16, 4e-3, 0.1e-3), "a")], {})
    assert holds
    assert "| quick | 16 | 4.00 ms | 100 us | 2.5 |  |" in text


def test_one_that_it_does_not_explain_is_said_first() -> None:
    text, holds = report([(QUICK, "a"), (STALLED, "b")], {})
    assert not holds
    assert text.splitlines()[2] == "| stalled | 1 | 44.00 ms | 500 us | 88.0 | WAITS |"


def test_what_is_known_of_its_server_is_an_explanation() -> None:
    text, holds = report([(STALLED, "b")], {"b": "Nagle", "a": ""})
    assert holds and "| 88.0 | Nagle |" in text


def test_what_is_not_so_in_every_round_is_noise() -> None:
    noisy = Median("quick", 1, 9e-3, 0.1e-3)
    assert report([(noisy, "a"), (QUICK, "a")], {})[1] and report([(QUICK, "a"), (noisy, "a")], {})[1]
    assert not report([(noisy, "a")], {})[1]


def test_the_way_to_a_server_that_needs_no_cpu_is_no_wait() -> None:
    assert report([(Median("c", 1, 0.9e-3, 0.01e-3), "a")], {})[1]


def test_a_run_is_read_and_one_without_figures_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text("")
    with pytest.raises(UserError, match="has no closed loop"):
        waits([str(tmp_path)])
    run = write_run(tmp_path / "run", lines := [entry()])
    for line in lines:
        write_measurement(run, line, output_of(line, 1000))
    build(run)
    text, _ = waits([str(run)])
    assert "| aiohttp-py313-debian | 64 |" in text

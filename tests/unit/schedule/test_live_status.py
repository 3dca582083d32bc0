"""Progress shows the same result of a step as the report, as far as it is known by then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from loop_runs import NAMES, STACKS, a_run, block, solo, write_window
from make_run import mark_measured, output_of, write_measurement, write_run
from turns_runs import measured

from bench.run.reader import read_raw, read_run, read_service
from bench.schedule.progress import LONGEST, LiveStatus, live_status
from bench.validity.run_records import judged_record


def status_of(folder: Path, without: str = "") -> LiveStatus:
    run = read_run(str(folder))
    return live_status(
        judged_record(one, read_raw(run.path, one), read_service(run.path, one.service))
        for one in run.planned
        if one.service != without
    )


LINE = solo("aiohttp", 1)


def status_after(folder: Path, output: str, **files: Any) -> LiveStatus:
    """The status of a measurement with this output of its tool."""
    write_run(folder, [LINE])
    write_measurement(folder, LINE, output, **files)
    return status_of(folder)


def test_a_valid_one_has_its_goodput(tmp_path: Path) -> None:
    status = status_after(tmp_path, output_of(LINE, 3000))
    assert status == LiveStatus(True, "3,000 requests/s", "3,000 requests/s")


def test_what_is_refused_has_a_cause_and_no_figure(tmp_path: Path) -> None:
    status = status_after(tmp_path, output_of(LINE, 3000, 3000))
    assert (status.valid, status.short) == (False, "invalid: errors")
    assert status.words.startswith("invalid: errors: ") and "requests/s" not in status.words


def test_nothing_that_was_measured_controls_the_terminal(tmp_path: Path) -> None:
    detail = "\x1b[2J\ttab\nline \u202eback " + "long " * 100
    status = status_after(tmp_path, "", meta={"outcome": "died", "detail": detail})
    assert status.words.startswith("invalid: died: ?[2J tab line ?back") and len(status.words) == LONGEST


def test_a_block_says_how_many_windows_are_valid_and_the_first_cause(tmp_path: Path) -> None:
    lines = block(1, STACKS)
    a_run(tmp_path, *lines)
    for line in lines:
        write_window(tmp_path, line, 3000, 400 if line["service"] == NAMES[1] else 0)
        mark_measured(tmp_path, line)
    found = status_of(tmp_path)
    assert (found.valid, found.short) == (False, "2 of 3 windows valid")
    assert found.words.startswith("2 of 3 windows valid; tornado-py313-debian json: errors: 400 of ")
    words = status_of(tmp_path, without=NAMES[1]).words
    assert words.startswith("2 of 2 windows valid; requests/s: ")
    assert all(name in words for name in (NAMES[0], NAMES[2]))


def test_a_block_that_is_only_loaded_at_common_rates_counts_its_windows() -> None:
    rated = [replace(one, mode="rate") for one in measured({"aiohttp": 100, "tornado": 100}, 1)]
    assert live_status(rated).words == f"{len(rated)} of {len(rated)} windows valid"

"""Windows of CPU time from what scripts/profile.sh saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from cost_files import calls, save, write

from bench.analysis.profiles.cost_windows import Calls, in_process, under_server
from bench.analysis.profiles.framework_costs import Group, Window
from bench.core.errors import UserError

GROUP = Group("a server", "async", ["bare", "own"], "bare")


def test_under_load_the_containers_cpu_time_is_divided_among_its_answers(tmp_path: Path) -> None:
    save(tmp_path / "own", "raw-queries-20.2", 1000, 20_000_000)
    save(tmp_path / "own", "json.1", 1000, 9_000_000, "  Non-2xx or 3xx responses: 3\n")
    save(tmp_path / "own", "echo.1", 1000, 9_000_000)
    assert [*under_server(tmp_path, ["own", "absent"], ["/json", "/raw/queries/20"])] == [
        Window("own", "/json", 1, None),
        Window("own", "/raw/queries/20", 2, 20_000),
    ]


def test_where_a_cgroup_cannot_be_read_that_is_said(tmp_path: Path) -> None:
    save(tmp_path / "own", "json.1", 1000, 9_000_000)
    (tmp_path / "own/json.1.after").write_text("null the container's cgroup cannot be read on this host\n")
    with pytest.raises(UserError, match=r"json\.1\.after"):
        list(under_server(tmp_path, ["own"], ["/json"]))


def test_in_process_what_calling_costs_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "bare/1.in-process", calls(None, cpu_ns=1_000), calls(), calls("/raw/db"))
    write(tmp_path / "own/1.in-process", calls(None, cpu_ns=2_000), calls(cpu_ns=9_000), calls("/raw/db", wrong=1))
    assert [*in_process(tmp_path, [GROUP], ["/json", "/raw/db"])] == [
        Window("bare", "/json", 1, 400),
        Window("bare", "/raw/db", 1, 400),
        Window("own", "/json", 1, 700),
        Window("own", "/raw/db", 1, None),
    ]


def test_in_process_the_cheapest_pass_counts_and_any_wrong_answer(tmp_path: Path) -> None:
    passes = [calls(None), calls(None, cpu_ns=1_000), calls(cpu_ns=9_000), calls(cpu_ns=7_000)]
    write(tmp_path / "bare/1.in-process", *passes, calls("/raw/db"), calls("/raw/db", wrong=1, cpu_ns=90_000))
    assert [*in_process(tmp_path, [GROUP], ["/json", "/raw/db"])] == [
        Window("bare", "/json", 1, 600),
        Window("bare", "/raw/db", 1, None),
    ]


def test_in_process_a_share_needs_the_bare_apps_answers(tmp_path: Path) -> None:
    write(tmp_path / "own/3.in-process", calls(None), calls())
    assert [*in_process(tmp_path, [GROUP], ["/json"])] == [Window("own", "/json", 3, None)]


@pytest.mark.parametrize(
    ("other", "right"),
    [
        ({}, True),
        ({"content_type": "Application/JSON; charset=utf-8", "body_bytes": 290}, True),
        ({"content_type": "text/html"}, False),
        ({"body_bytes": 300}, False),
        ({"body_bytes": 240}, False),
        ({"wrong": 1}, False),
        ({"requests": 0}, False),
    ],
)
def test_answers_are_like_the_bare_apps(other: dict[str, object], right: bool) -> None:
    def made(**values: object) -> Calls:
        return Calls(**calls(**values))  # type: ignore[arg-type]

    assert made(**other).like(made()) is right

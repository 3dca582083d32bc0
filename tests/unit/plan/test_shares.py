"""Several load generators on one cell: which plans are refused, and how a load is divided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from make_run import entry

from bench.cli.plan import commands_verb, list_verb
from bench.core.errors import UserError
from bench.plan.clients import cannot_share
from bench.plan.levels import parse_level
from bench.plan.measurement import Measurement, planned_of, shares
from bench.schedule.step_file import host_step, loads_of
from bench.schedule.steps import Step


def planned(level: str, number: int, tool: str = "wrk", **changes: Any) -> Measurement:
    return planned_of(entry("aiohttp", "json", tool, level, timeout_s=2.0, loadgens=number, **changes))


def test_connections_and_rates_are_divided_and_the_first_ones_get_what_is_left() -> None:
    each = shares(planned("c64", 3, threads=2))
    assert [(one.connections, one.threads, one.loadgens) for one in each] == [(22, 2, 1), (21, 1, 1), (21, 1, 1)]
    assert [one.dir.rpartition("/")[2] for one in each] == ["client-1", "client-2", "client-3"]
    assert [one.rate for one in shares(planned("r500", 3, "vegeta"))] == [167, 167, 166]
    limited = shares(planned("c100r8001", 2, "hey"))
    assert [(one.connections, one.rate) for one in limited] == [(50, 4001), (50, 4000)]


def test_one_load_generator_is_what_there_was_before() -> None:
    one = planned("c64", 1)
    assert shares(one) == (one,)
    assert "loadgens" not in one.as_dict() and planned("c64", 2).as_dict()["loadgens"] == 2
    assert host_step(Step((one,))).clients == ()


def test_the_step_has_the_whole_load_for_the_warm_up_and_one_for_each(tmp_path: Path) -> None:
    one = planned("r501", 2, "vegeta")
    step = loads_of(tmp_path, Step((one,)))
    assert step.clients == host_step(Step((one,))).clients == ("client_1", "client_2")
    assert {name: load.rate for name, load in step.loads.items()} == {
        one.id: 501,
        "client_1": 251,
        "client_2": 250,
    }
    assert step.loads["client_2"].dir.endswith("/client-2")


@pytest.mark.parametrize(
    ("level", "number", "cause"),
    [
        ("c2", 3, "level c2 has fewer connections than load generators"),
        ("r2", 3, "level r2 has fewer requests/s than load generators"),
        ("c8r3", 4, "level c8r3 has fewer requests/s than load generators"),
        ("c16n1000", 2, "level c16n1000: load generators that send a number of requests end at different times"),
        ("knee:p99=50ms", 2, "level knee-p99-50ms is searched by one load generator: give a rate (r500)"),
        ("c3", 3, None),
        ("r3", 3, None),
        ("c8r4", 4, None),
    ],
)
def test_levels_that_cannot_be_shared(level: str, number: int, cause: str | None) -> None:
    assert cannot_share(parse_level(level), number) == cause


STACK = ["--stack", "uvicorn-asgi", "--scenario", "json", "--tool", "wrk", "--level", "c8"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--loadgens", "2"], "needs --mode solo"),
        (["--loadgens", "2", "--mode", "turns"], "needs --mode solo"),
        (["--loadgens", "2", "--mode", "solo", "--profile"], "does not go with --profile"),
        (["--loadgens", "2", "--mode", "solo", "--target", "http://127.0.0.1:9"], "does not go with --target"),
        (["--loadgens", "0", "--mode", "solo"], "from 1 to 32"),
        (["--loadgens", "9", "--mode", "solo"], "fewer connections than load generators"),
    ],
)
def test_what_goes_with_one_load_generator_only(options: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        list_verb([*STACK, *options])


def test_what_is_listed_says_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_verb([*STACK, "--mode", "solo", "--loadgens", "2"]) == 0
    assert "each by 2 load generators at once" in capsys.readouterr().out
    assert list_verb([*STACK, "--mode", "solo"]) == 0
    assert "load generators" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "shares"),
    [(("--mode", "solo", "--loadgens", "2"), [" -c 4 ", " -c 4 "]), (("--mode", "solo"), [" -c 8 "])],
)
def test_a_dry_run_prints_the_command_line_of_each(
    options: tuple[str, ...], shares: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands_verb([*STACK, *options, "--rounds", "1"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "  uvicorn-asgi" in line]
    assert len(lines) == len(shares)
    for line, share in zip(lines, shares, strict=True):
        assert "  uvicorn-asgi-py313-debian  wrk -t 1 " in line and share in line and line.endswith(":8080/json")

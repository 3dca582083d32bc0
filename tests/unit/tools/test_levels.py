"""Levels: their names, and which tool can generate which."""

from __future__ import annotations

import pytest
from tables import rows

from bench.core.errors import UserError
from bench.core.exchange import Exchange
from bench.tools.levels import Level, beside, refusal


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("64", Level("c64", 64)),
        ("c64", Level("c64", 64)),
        ("064", Level("c64", 64)),
        ("c16n1000", Level("c16n1000", 16, count=1000)),
        ("c100r8000", Level("c100r8000", 100, rate=8000)),
        ("r500", Level("r500", rate=500)),
        ("c16t800", Level("c16t800", 16, turn_s=0.8)),
        ("c16close", Level("c16close", 16, closes=True)),
        ("c16n1000close", Level("c16n1000close", 16, count=1000, closes=True)),
        ("c16t800close", Level("c16t800close", 16, turn_s=0.8, closes=True)),
        ("r500close", Level("r500close", rate=500, closes=True)),
        ("share50close", Level("share50close", share=0.5, closes=True)),
    ],
)
def test_levels(text: str, level: Level) -> None:
    found = Level.parse(text)
    names = Level.__annotations__
    assert [getattr(found, name) for name in names] == [getattr(level, name) for name in names]


@pytest.mark.parametrize(
    ("text", "name", "limit_s", "share"),
    [
        ("knee:p99=50ms", "knee-p99-50ms", 0.05, None),
        ("knee-p99-50ms", "knee-p99-50ms", 0.05, None),
        ("knee:p99=2000ms", "knee-p99-2000ms", 2.0, None),
        ("knee70:p99=8ms", "knee70-p99-8ms", 0.008, 0.7),
    ],
)
def test_levels_that_search_a_knee(text: str, name: str, limit_s: float, share: float | None) -> None:
    level = Level.parse(text)
    assert (level.text, level.knee_p99_s, level.knee_share, level.open_loop) == (name, limit_s, share, True)
    assert refusal("vegeta", level, Exchange()) is None and refusal("wrk", level, Exchange())


@pytest.mark.parametrize(
    "text",
    ["knee", "knee:p99=0ms", "knee:p99=2001ms", "knee:p95=50ms", "knee:p99=50", "knee100:p99=50ms", "kneep99=5ms"],
)
def test_knees_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match=r"unknown level|1 to 2000 ms"):
        Level.parse(text)


@pytest.mark.parametrize("text", rows(__file__, "no_levels"))
def test_levels_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match="unknown level"):
        Level.parse(text)


def test_a_common_rate_opens_connections_as_its_table_does() -> None:
    kept, closing = Level.parse("c16"), Level.parse("c16close")
    for rate in ("share50", "share50close"):
        assert [beside(Level.parse(rate), table).text for table in (kept, closing)] == ["share50", "share50close"]
    # The knee of which it is a share was found on kept connections.
    knee = Level.parse("knee70:p99=50ms")
    assert beside(knee, closing) == knee


def test_every_tool_can_open_a_connection_for_each_request() -> None:
    for tool, level in (("wrk", "c8close"), ("ab", "c8n80close"), ("hey", "c8r80close"), ("vegeta", "r5close")):
        assert refusal(tool, Level.parse(level), Exchange()) is None


def test_no_tool_is_asked_for_what_it_cannot_send() -> None:
    assert refusal("vegeta", Level.parse("64"), Exchange())
    assert refusal("wrk", Level.parse("r5"), Exchange())
    assert refusal("wrk", Level.parse("c8n80"), Exchange())
    assert refusal("wrk", Level.parse("8"), Exchange(method="POST"))
    assert refusal("ab", Level.parse("c8r80"), Exchange())
    for tool, level in (("vegeta", "r5"), ("wrk", "8"), ("ab", "c8n80"), ("hey", "c8r80"), ("hey", "c8n80")):
        assert refusal(tool, Level.parse(level), Exchange()) is None

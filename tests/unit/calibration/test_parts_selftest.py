"""The two parts of a turn: what a service costs right after others, against what it costs later in the same turn."""

from __future__ import annotations

import math

import pytest

from calibration.parts import change_of, report


def tool(*parts: tuple[tuple[int, int], tuple[int, int]]) -> dict[str, object]:
    return {"turns": {"parts": [((100, 400), *part) for part in parts]}}


def test_the_change_is_of_cpu_time_per_byte_over_all_turns() -> None:
    # 66 per 600 bytes up to the mark, 200 per 2,000 after it.
    found = change_of(tool(((30, 100), (200, 1000)), ((36, 100), (400, 1000))))
    assert found == pytest.approx(math.log(1.1))


@pytest.mark.parametrize("missing", [{}, {"turns": {}}, tool(((0, 100), (200, 1000))), tool(((30, 100), (200, 0)))])
def test_a_part_without_cpu_time_or_answers_has_no_change(missing: dict[str, object]) -> None:
    assert change_of(missing) is None


def test_a_ratio_that_is_off_by_more_than_three_percent_is_not_held() -> None:
    cold, same = [math.log(ratio) for ratio in (1.05, 1.07)], [math.log(ratio) for ratio in (0.99, 1.01)]
    text, holds = report({"json": {"cold": cold, "same": same}})
    assert not holds
    assert "| cold | +6.0 % (-6.0 to +19.5) | 2 |" in text
    assert "off by at most 6.0 %" in text
    assert report({"json": {"one": cold, "other": cold}})[1], "what is the same for both is in no ratio"

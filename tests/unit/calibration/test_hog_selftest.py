"""The self-test with other work on the server's CPU: the level of each window, and its effect on the figures."""

from __future__ import annotations

import random

import pytest

from calibration.hog import Window, level_at, report

LEVELS = [(100, 200, 50), (200, 300, 0)]


@pytest.mark.parametrize(
    ("begin", "end", "level"), [(110, 190, 50), (200, 300, 0), (190, 210, None), (50, 90, None), (250, 310, None)]
)
def test_a_window_counts_where_the_level_was_one(begin: int, end: int, level: int | None) -> None:
    assert level_at(LEVELS, begin, end) == level


def windows(moved: float, seed: int = 1) -> list[Window]:
    rng, found = random.Random(seed), []
    for service, cpu_s in (("a", 30e-6), ("b", 200e-6)):
        for percent, factor, rate in ((0, 1.0, 1.0), (50, moved, 0.6)):
            for _ in range(12):
                noise = 1 + rng.gauss(0, 0.01)
                found.append(Window(service, percent, cpu_s * factor * noise, rate * noise / cpu_s))
    return found


def test_services_of_different_speed_are_pooled_and_a_small_change_holds() -> None:
    text, holds = report(windows(1.01))
    assert holds
    assert "| 24 and 24 |" in text
    assert "| 50 % | +1." in text
    assert "| -40." in text or "| -39." in text


def test_a_change_beyond_three_percent_does_not() -> None:
    assert not report(windows(1.08))[1]

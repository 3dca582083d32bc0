"""Uneven shares of connections: not detected when due to chance, always if one worker has most of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bench.stats.even_shares import UNEVEN, p_even


def test_the_exact_test_is_that_of_scipy_where_there_are_two_workers() -> None:
    assert p_even([(9, 1)]) == pytest.approx(stats.binomtest(9, 10).pvalue)
    assert p_even([(5, 5)]) == 1.0


@pytest.mark.parametrize("connections", [8, 64, 2000])
def test_chance_is_rarely_called_uneven(connections: int) -> None:
    random = np.random.default_rng(connections)
    drawn = [[tuple(map(int, random.multinomial(connections, [0.25] * 4))) for _ in range(2)] for _ in range(150)]
    found = [p_even(rounds) for rounds in drawn]
    assert stats.binomtest(sum(p <= 0.05 for p in found), len(found), 0.05, alternative="greater").pvalue > 0.01


def test_seventy_percent_to_one_worker_is_uneven_once_there_are_connections_enough() -> None:
    assert p_even([(45, 6, 7, 6)]) <= UNEVEN and p_even([(700, 100, 100, 100)]) <= UNEVEN
    assert p_even([(6, 1, 1, 0)]) > UNEVEN
    assert p_even([(6, 1, 1, 0)] * 4) <= UNEVEN


def test_more_even_than_chance_is_even() -> None:
    assert p_even([(16, 16, 16, 16)] * 5) == pytest.approx(1.0) and p_even([(500, 500, 500, 500)]) == 1.0


def test_one_worker_and_no_connections_say_nothing() -> None:
    assert p_even([]) == p_even([(8,)]) == p_even([(0, 0)]) == 1.0

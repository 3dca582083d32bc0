"""How often tables in turns are wrong: a few of the cases of simulate_tables.py."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy import stats
from simulate_tables import CONDITIONS, ERRATIC, PILOT, Spread, observations, simulate

from bench.stats.table_family import look_level
from bench.stats.table_fit import fit_table
from bench.stats.table_verdicts import FASTER, MARGIN, Difference, differences


def plausibly_below(most: float, hits: int, of: int) -> bool:
    return bool(stats.binomtest(hits, of, most, alternative="greater").pvalue > 0.01)


@pytest.mark.parametrize(
    "name",
    ["alike", "one service three times as noisy", "half of them three times", "wild, missing, one to three times"],
)
def test_intervals_hold_and_tables_have_few_false_words(name: str) -> None:
    tally = simulate(40, [0.0] * 8, CONDITIONS[name], looks=(4, 8))
    # A table has 28 differences, seven of them independent.
    assert all(stats.binomtest(round(share * 280), 280, 0.955).pvalue > 0.001 for share in tally.coverage)
    assert plausibly_below(0.05, tally.false, tally.tables)
    assert tally.denied == 0


@pytest.mark.parametrize("name", [name for name in ERRATIC if "one of five" not in name])
def test_erratic_services_are_rarely_called_different(name: str) -> None:
    tally = simulate(100, [0.0] * 8, ERRATIC[name], looks=(6,), least=log(1.02))
    assert plausibly_below(0.05, tally.false, tally.tables)


def test_a_service_that_is_rarely_slow_looks_faster_where_no_round_shows_it() -> None:
    """Six rounds show a slow one of five in 74 of 100 runs; without one, nothing tells that there are any."""
    slower, half = (f"one service {what} in one of five rounds" for what in ("10 % slower", "half as fast"))
    mild = simulate(100, [0.0] * 8, ERRATIC[slower], looks=(6,), least=log(1.02))
    assert plausibly_below(0.1, mild.false, mild.tables)
    hard = simulate(60, [0.0] * 8, ERRATIC[half], looks=(6,))
    assert hard.false / hard.tables < 0.4


def test_blocks_of_twenty_services_hold_too() -> None:
    tally = simulate(6, [0.0] * 20, CONDITIONS["one observation in ten missing"], looks=(4, 8))
    assert (tally.coverage > 0.92).all() and tally.false <= 1


def test_twins_that_remain_when_others_leave_are_rarely_told_apart() -> None:
    truths = [0.0] * 3 + [0.2 * place for place in range(1, 6)]
    tally = simulate(30, truths, Spread(0.02, 0.01), looks=(4, 8), leave=True)
    assert plausibly_below(0.05, tally.false, tally.tables)


def test_a_difference_of_the_margin_is_rarely_denied() -> None:
    tally = simulate(40, [MARGIN * (place // 2) for place in range(8)], Spread(0.01, 0.003), looks=(4, 8))
    # 24 of a table's 28 differences are the margin or more, and half of those are exactly the margin.
    assert tally.different == 40 * 24
    assert plausibly_below(0.025, tally.denied, tally.different // 2)


@pytest.mark.parametrize(
    "name, percent, rounds, least", [("two windows, quiet", 5, 8, 0.85), ("one window, quiet", 10, 6, 0.85)]
)
def test_known_differences_are_called(name: str, percent: int, rounds: int, least: float) -> None:
    truths = [log(1 + percent / 100) * place for place in range(8)]
    tally = simulate(25, truths, PILOT[name], looks=(rounds, 2 * rounds), least=log(1.02))
    assert tally.called[0] >= least and tally.called[1] > 0.97


def test_what_is_said_to_be_detectable_is_found_nine_times_in_ten() -> None:
    rng, level, spread = np.random.default_rng(1), look_level((8, 16)), Spread(0.03, 0.0)

    def tables(count: int, truths: list[float]) -> list[dict[tuple[str, str], Difference]]:
        return [differences(fit_table(observations(rng, truths, 8, spread)), level) for _ in range(count)]

    said = np.mean([one.detectable for found in tables(20, [0.0] * 8) for one in found.values()])
    apart = tables(40, [0.0] * 4 + [float(said)] * 4)
    called = [one.word == FASTER for found in apart for (i, j), one in found.items() if j < "s04" <= i]
    assert 0.82 < np.mean(called) < 0.97

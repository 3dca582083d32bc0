"""Simultaneous intervals, verdicts, ranks and tiers of tables with a known truth."""

from __future__ import annotations

import math
import os
import random
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats
from simulate_tables import Spread, observations

from bench.stats.estimates import ERRORS, Interval
from bench.stats.table_family import (
    COMPUTED,
    GRID,
    _quantile,
    _quantiles,
    computed_quantile,
    half_widths,
    look_level,
    projected_rounds,
)
from bench.stats.table_fit import Observation, TableFit, fit_table
from bench.stats.table_verdicts import (
    EQUAL,
    FASTER,
    NO_WINNER,
    SLOWER,
    RankedService,
    differences,
    rank,
    settled,
)

LEVEL = look_level((4, 8, 12))


def fitted(truths: list[float], spread: float, rounds: int = 8, seed: int = 1, **facts: float) -> TableFit:
    return fit_table(observations(np.random.default_rng(seed), truths, rounds, Spread(spread, 0.0, **facts)))  # type: ignore[arg-type]


def ranked(fit: TableFit) -> tuple[RankedService, ...]:
    return rank(fit, differences(fit, LEVEL))


def family_intervals(fit: TableFit, level: float) -> dict[tuple[str, str], Interval]:
    """The simultaneous intervals of all differences, in both directions."""
    found = {}
    for (i, j), (contrast, half) in half_widths(fit, level).items():
        low, high = contrast.estimate - half, contrast.estimate + half
        found[i, j], found[j, i] = Interval(low, high, level), Interval(-high, -low, level)
    return found


def test_looks_share_the_errors() -> None:
    assert look_level((4, 8, 12)) == pytest.approx(1 - 0.05 / 3) and look_level([10]) == 0.95


@pytest.mark.parametrize("count, df", [(2, 5.5), (3, 1.7), (8, 3.5), (8, 12.0), (20, 17.0), (20, 45.0)])
def test_quantiles_are_those_of_the_studentized_range(count: int, df: float) -> None:
    exact = stats.studentized_range.ppf(LEVEL, count, df) / math.sqrt(2)
    assert _quantiles(count, LEVEL, np.array([df]))[0] == pytest.approx(exact, rel=0.01)


def test_computed_quantiles_are_those_of_the_studentized_range() -> None:
    """A few of them; `GOLDEN=write` computes all, which takes minutes."""
    tables = [*product(range(3, 15), range(1, 6))]
    if os.environ.get("GOLDEN") == "write":
        rows = [(*one, *(computed_quantile(one[0], 1 - ERRORS / one[1], df) for df in GRID)) for one in tables]
        COMPUTED.write_text("".join("\t".join(map(repr, row)) + "\n" for row in rows))
    known = [tuple(map(int, line.split("\t")[:2])) for line in COMPUTED.read_text().splitlines()]
    assert known == tables
    for (count, looks), df in random.Random(1).sample([*product(tables, GRID)], 10):
        level = look_level(range(looks))
        assert _quantile(count, level, df) == pytest.approx(computed_quantile(count, level, df), rel=1e-9)


def test_two_services_have_their_own_interval() -> None:
    fit = fitted([0.0, 0.1], 0.02)
    alone = fit.contrast("s01", "s00")
    assert alone is not None
    found, expected = family_intervals(fit, LEVEL)["s01", "s00"], alone.interval(LEVEL)
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_swapping_two_services_only_turns_the_sign() -> None:
    fit = fitted([0.0, 0.02, 0.1, 0.3], 0.02)
    family, found = family_intervals(fit, LEVEL), differences(fit, LEVEL)
    assert len(family) == 12
    for i, j in combinations(fit.services, 2):
        assert (family[i, j].low, family[i, j].high) == (-family[j, i].high, -family[j, i].low)
        one, other = found[i, j], found[j, i]
        assert {one.word, other.word} in ({FASTER, SLOWER}, {EQUAL}, {NO_WINNER})
        assert one.estimate == -other.estimate and one.more_rounds == other.more_rounds


def test_noisy_services_have_wider_intervals_of_their_own() -> None:
    fit = fitted([0.0] * 8, 0.02, rounds=12, scales=(3.0,) * 4 + (1.0,) * 4)  # type: ignore[arg-type]
    family = family_intervals(fit, LEVEL)
    noisy, calm = (np.mean([family[p].high - family[p].low for p in combinations(part, 2)])
                   for part in (fit.services[:4], fit.services[4:]))  # fmt: skip
    assert noisy > 2 * calm


def test_more_services_make_wider_intervals() -> None:
    three, twenty = (family_intervals(fitted([0.0] * count, 0.02), LEVEL).values() for count in (3, 20))
    assert np.median([i.high - i.low for i in twenty]) > 1.2 * np.median([i.high - i.low for i in three])


def test_words_follow_their_intervals() -> None:
    fit = fitted([0.0, 0.001, 0.04, 0.2], 0.006)
    found = differences(fit, LEVEL)
    assert found["s03", "s00"].word == FASTER and found["s00", "s03"].word == SLOWER
    same = found["s00", "s01"]
    alone = fit.contrast("s00", "s01")
    assert same.word == EQUAL and alone is not None
    assert same.interval == alone.interval(LEVEL) and same.half_width > (same.interval.high - same.interval.low) / 2
    assert all(one.more_rounds == 0 for one in found.values() if one.word != NO_WINNER)
    assert settled(found, fit) == all(one.word != NO_WINNER for one in found.values())


def test_a_small_difference_is_none_however_sure() -> None:
    fit = fitted([0.0, 0.015, 0.3], 0.001)
    assert family_intervals(fit, LEVEL)["s01", "s00"].low > 0
    assert differences(fit, LEVEL)["s01", "s00"].word == EQUAL
    assert differences(fit, LEVEL, least=0.01)["s01", "s00"].word == FASTER
    assert differences(fit, LEVEL, margin=0.01)["s01", "s00"].word == NO_WINNER


def test_what_is_open_says_how_many_rounds_it_needs() -> None:
    found = differences(fitted([0.0, 0.03, 0.03], 0.05), LEVEL)["s01", "s00"]
    assert found.word == NO_WINNER
    called = 8 * (found.half_width / abs(found.estimate)) ** 2
    assert 1 <= found.more_rounds <= max(1, math.ceil(called) - 8)
    assert found.detectable > found.half_width
    assert projected_rounds(0.04, 0.02, 8) == pytest.approx(32)
    assert projected_rounds(0.01, 0.02, 8) == 8
    assert projected_rounds(math.inf, 0.02, 8) == math.inf == projected_rounds(0.01, 0.0, 8)


def test_ranks_and_tiers() -> None:
    fit = fitted([0.0, 0.3, 0.305, 0.1, 0.298], 0.006)
    rows = ranked(fit)
    assert [row.rank for row in rows] == [1, 2, 3, 4, 5]
    assert [row.tier for row in rows] == [1, 1, 1, 2, 3]
    assert [row.service for row in rows][3:] == ["s03", "s00"]


def test_a_tier_ends_where_its_best_is_beaten_and_not_its_second() -> None:
    # 2.5 % apart: neighbours are tied, the first and the last are not.
    fit = fitted([0.0, -0.025, -0.05, -0.075, -0.1], 0.012)
    rows, found = ranked(fit), differences(fit, LEVEL)
    heads = {row.tier: row.service for row in reversed(rows)}
    for row in rows:
        assert row.tier is not None
        if row.service != heads[row.tier]:
            assert found[row.service, heads[row.tier]].word != SLOWER
        elif row.tier > 1:
            assert found[row.service, heads[row.tier - 1]].word == SLOWER
    assert 1 < len(heads) < 5


def test_what_is_not_connected_is_not_ranked() -> None:
    seen = observations(np.random.default_rng(1), [0.0, 0.1, 0.2], 8, Spread(0.01, 0.0))
    fit = fit_table([*seen, Observation(1, 999, "lone", 3.0)])
    rows = ranked(fit)
    assert [row.rank for row in rows] == [1, 2, 3, None]
    assert rows[-1].tier is None
    assert not settled(differences(fit, LEVEL), fit)
    assert not any("lone" in pair for pair in family_intervals(fit, LEVEL))
    assert ranked(fit_table([])) == ()


def test_a_service_with_a_single_round_has_no_rank_and_hides_no_other() -> None:
    seen = observations(np.random.default_rng(1), [0.5, 0.0, 0.6], 8, Spread(0.01, 0.0))
    third = max(one.service for one in seen)
    fit = fit_table([one for one in seen if one.service != third or one.round == 3])
    rows = ranked(fit)
    assert [(row.service, row.rank, row.tier) for row in rows] == [("s00", 1, 1), ("s01", 2, 2), (third, None, None)]
    assert [row.thin for row in rows] == [False, False, True]
    assert not settled(differences(fit, LEVEL), fit)


def test_one_round_decides_nothing() -> None:
    fit = fitted([0.0, 0.5, 1.0], 0.01, rounds=1)
    found = differences(fit, LEVEL)
    assert {one.word for one in found.values()} == {NO_WINNER}
    assert all(one.more_rounds == math.inf == one.detectable for one in found.values())
    assert [row.tier for row in ranked(fit)] == [1, 1, 1]


def test_a_service_that_never_shared_a_window_has_no_difference() -> None:
    one, two = Observation(1, 1, "a", 0.0, 1.0), Observation(1, 2, "b", 0.1, 1.0)
    fit = fit_table([one, two])
    assert fit.components == (("a",), ("b",)) and differences(fit, LEVEL) == {}
    assert [service.rank for service in rank(fit, {})]

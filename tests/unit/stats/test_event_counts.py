"""Whether services lose different shares of their requests: how often there is a false difference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from bench.stats.estimates import ERRORS
from bench.stats.event_counts import (
    GROWS,
    NOT_ENOUGH,
    STEADY,
    Counts,
    Spread,
    corrected,
    p_differ,
    rank_sum_p,
    rounds_needed,
    slope,
    spread_of,
)

TABLES = 120
Draw = Callable[[np.random.Generator, int], int]
"""(random numbers, requests sent) -> requests lost in one event."""


def few(random: np.random.Generator, sent: int) -> int:
    return int(random.integers(1, 4))


def at_random(random: np.random.Generator, sent: int) -> int:
    return int(random.poisson(sent / 1000))


def rarely(random: np.random.Generator, sent: int) -> int:
    """Most services lose nothing in these rounds, so their pairs are not tested."""
    return int(random.poisson(0.05) * 4)


def in_clusters(random: np.random.Generator, sent: int) -> int:
    """Every second event loses a worker's requests in flight, the others lose nothing."""
    return int(random.integers(0, 2) * random.integers(5, 60))


def called(random: np.random.Generator, draw: Draw, sent: tuple[int, ...], rounds: int, events: int) -> bool:
    """Whether a table of equal services has a false difference."""
    pairs: list[tuple[Counts, Counts, Spread]] = []
    for _ in range(events):
        services: list[Counts] = [tuple((draw(random, each), each) for _ in range(rounds)) for each in sent]
        spread = spread_of(services)
        pairs += [(a, b, spread) for a, b in combinations(services, 2)]
    return min(corrected(pairs)[0]) <= ERRORS


@pytest.mark.parametrize(
    "draw, sent, rounds, events",
    [
        (few, (1000,) * 2, 3, 1),
        (few, (1000,) * 8, 3, 12),
        (few, (1000,) * 2, 5, 1),
        (few, (1000,) * 6, 8, 3),
        (at_random, (1000, 6000), 3, 1),
        (at_random, (500, 1000, 4000), 3, 3),
        (at_random, (1000, 6000), 6, 1),
        (at_random, (500, 1000, 4000), 10, 3),
        (rarely, (1000,) * 6, 3, 12),
        (rarely, (1000,) * 6, 4, 3),
        (in_clusters, (1000,) * 2, 3, 1),
        (in_clusters, (1000,) * 8, 3, 12),
        (in_clusters, (1000,) * 2, 6, 1),
        (in_clusters, (1000,) * 4, 12, 2),
    ],
)
def test_equal_services_are_rarely_called_apart(draw: Draw, sent: tuple[int, ...], rounds: int, events: int) -> None:
    random = np.random.default_rng(1)
    false = sum(called(random, draw, sent, rounds, events) for _ in range(TABLES))
    assert stats.binomtest(false, TABLES, ERRORS, alternative="greater").pvalue > 0.01


def test_one_test_without_the_other_would_call_equal_services_apart() -> None:
    """Why there are two tests: clusters mislead one with requests as units, unequal numbers one with rounds."""
    random = np.random.default_rng(2)
    clusters = [[in_clusters(random, 1000) for _ in range(6)] for _ in range(2 * TABLES)]
    pairs = zip(clusters[::2], clusters[1::2], strict=True)
    fooled = sum(stats.fisher_exact([[sum(a), 6000], [sum(b), 6000]]).pvalue <= ERRORS for a, b in pairs)
    assert fooled > TABLES / 4


def test_five_of_a_thousand_against_none_is_called_after_a_few_rounds() -> None:
    random = np.random.default_rng(3)
    found = []
    for rounds in (5, 8):
        lost: Counts = tuple((int(random.integers(3, 8)), 1000) for _ in range(rounds))
        found.append(p_differ(lost, ((0, 1000),) * rounds))
    assert found == pytest.approx([2 / 252, 2 / 12870])
    # A table of one event and two services needs four rounds, one of 8 services and 13 events nine.
    assert rounds_needed(((5, 1000),) * 3, ((0, 1000),) * 3, 1) == 4
    assert rounds_needed(((5, 1000),) * 3, ((0, 1000),) * 3, 13 * 28) == 9


def test_a_large_difference_is_called_after_three_rounds_among_hundreds() -> None:
    random = np.random.default_rng(5)

    def services(large: bool) -> list[Counts]:
        # One loses two thirds, as if it ended, the others few or none, in small clusters.
        shares = [0.65 if large else 0.004, 0.004, 0.003, 0.002, 0.002, 0.001, 0.0, 0.0]
        return [tuple((min(700, 3 * int(random.poisson(700 * one / 3))), 700) for _ in range(3)) for one in shares]

    rows = [services(large=not row) for row in range(12)]
    pairs = [(a, b, spread_of(row)) for row in rows for a, b in combinations(row, 2)]
    found, tests = corrected(pairs)
    assert tests > 250
    # Each of the others differs from the one that is far worse; pairs with small differences do not.
    assert [place for place, p in enumerate(found) if p <= ERRORS] == [*range(7)]


def test_clusters_of_one_service_speak_against_all_of_its_row() -> None:
    lost: Counts = ((60, 1000), (70, 1000), (65, 1000))
    none: Counts = ((0, 1000),) * 3
    steady, erratic = ((30, 1000), (28, 1000), (33, 1000)), ((200, 1000), (0, 1000), (0, 1000))
    assert p_differ(lost, none, 28, spread_of([lost, none, steady])) < 0.001
    assert p_differ(lost, none, 28, spread_of([lost, none, erratic])) > 0.1
    # Two rounds give no verdict, however clear.
    assert p_differ(lost[:2], none[:2], 28, spread_of([lost[:2], none[:2], steady[:2]])) == 1.0


def test_nothing_is_called_from_one_round_and_equal_shares_need_no_more() -> None:
    assert p_differ(((1000, 1000),), ((0, 1000),)) == 1.0
    assert p_differ(((1000, 1000),), ((0, 1000),) * 40) == 1.0
    assert rounds_needed(((2, 1000),) * 3, ((4, 2000),) * 3, 1) is None
    assert rounds_needed((), ((0, 1000),), 1) is None
    # Many losses in one round against one loss in each: which loses more depends on how losses are counted.
    assert p_differ(((0, 1000),) * 6 + ((700, 1000),), ((1, 1000),) * 7) == 1.0
    assert corrected([]) == ([], 0)
    # Those that lose everything say nothing about how much others scatter.
    all_lost = [((32, 32),) * 3] * 8
    cluster, nothing = ((30, 32), (0, 32), (0, 32)), ((0, 32),) * 3
    assert spread_of([cluster, *all_lost]) == spread_of([cluster])
    assert p_differ(cluster, nothing, 5, spread_of([cluster, nothing, *all_lost])) > 0.3
    none, some = ((0, 1000),) * 3, ((2, 1000),) * 3
    # Two services that lose nothing are not tested, and do not count in the correction for multiple tests.
    pairs = [(none, none, Spread()), (some, none, Spread()), (none, some, Spread())]
    assert corrected(pairs) == ([1.0, 1.0, 1.0], 2)


def test_one_bad_round_is_not_called_in_either_order_of_the_pair() -> None:
    """Ranks are tied, and only one round makes the totals differ."""
    even, one_bad = ((1, 1000), (1, 1000), (1, 1000)), ((0, 1000), (1, 1000), (300, 1000))
    quiet = [((0, 1000), (1, 1000), (0, 1000))] * 14
    spread = spread_of([even, one_bad, *quiet])
    assert p_differ(even, one_bad, 120, spread) == p_differ(one_bad, even, 120, spread) == 1.0


def test_the_tests_are_those_of_scipy() -> None:
    a, b = (3.0, 5.0, 9.0, 11.0), (1.0, 2.0, 4.0, 6.5, 7.0)
    assert rank_sum_p(a, b) == pytest.approx(stats.mannwhitneyu(a, b, method="exact").pvalue)
    ranks = stats.rankdata([5, 4, 0, 0, 0, 0, 0, 1])
    exact = stats.permutation_test((ranks[:4], ranks[4:]), lambda x, y: abs(sum(x) - sum(y)), alternative="greater")
    assert rank_sum_p((5, 4, 0, 0), (0, 0, 0, 1)) == pytest.approx(exact.pvalue)


def samples(step: Callable[[int], float], parts: int = 10) -> list[tuple[float, float]]:
    return [(100_000 * part, 50e6 + step(part)) for part in range(parts + 1)]


def test_a_leak_grows_by_what_it_leaks_and_a_steady_service_does_not() -> None:
    leak = slope([samples(lambda part: 100_000 * part * 64)])
    assert (leak.word, leak.mean) == (GROWS, pytest.approx(64))
    assert slope([samples(lambda part: 0)]).word == STEADY
    # A heap that fills at the start and then stays constant does not grow.
    assert slope([samples(lambda part: min(part, 2) * 30e6)]).word == STEADY
    # A single jump is not a slope, and five samples are too few for one.
    assert slope([samples(lambda part: 40e6 * (part > 6))]).word == NOT_ENOUGH
    assert slope([samples(lambda part: 100_000 * part * 64, parts=4)]).word == NOT_ENOUGH


def test_a_heap_that_wanders_is_rarely_said_to_grow() -> None:
    random = np.random.default_rng(4)
    walks = [np.cumsum(random.normal(0, 4e6, 11)) for _ in range(400)]
    grows = sum(slope([samples(lambda part, walk=walk: float(walk[part]))]).word == GROWS for walk in walks)
    assert stats.binomtest(grows, len(walks), 0.025, alternative="greater").pvalue > 0.01


def heap(random: np.random.Generator, requests: float, leak: float = 0.0) -> list[tuple[float, float]]:
    """Medians of ten parts of a service that leaks `leak` bytes per request, plus a heap's normal noise.

    Noise: a saw-tooth of garbage collection of 2 MB, whose period does not match the parts; arenas of 1 MB, in Poisson
    numbers that halve from part to part; and pages of 4 KB that come and go, about 200 KB.
    """
    period, phase = random.uniform(0.03, 0.6), random.uniform()
    wanders, size, arenas, parts = 0.0, 40e6, 0, []
    for part in range(10):
        arenas += random.poisson(4 * 0.5**part)
        seen = []
        for sample in range(15):
            at = part + (sample + random.uniform()) / 15
            wanders = 0.9 * wanders + random.normal(0, 90e3)
            tooth = 2e6 * ((at / period + phase) % 1)
            seen.append(size + arenas * 1e6 + tooth + round(wanders / 4096) * 4096 + leak * requests * at / 10)
        parts.append((requests * (part + 0.5) / 10, float(np.median(seen))))
    return parts


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("requests", [50_000, 250_000, 1_000_000])
def test_noise_of_a_heap_does_not_pass_for_growth(requests: int, rounds: int) -> None:
    random = np.random.default_rng(requests + rounds)
    found = [slope([heap(random, requests) for _ in range(rounds)]).word for _ in range(400)]
    assert stats.binomtest(found.count(GROWS), len(found), 0.05, alternative="greater").pvalue > 0.01
    # With fewer requests, the interval is wider than the negligible slope, and the word says so.
    assert requests < 1_000_000 or found.count(STEADY) > 0.95 * len(found)


def test_a_leak_in_the_noise_is_found() -> None:
    random = np.random.default_rng(7)
    found = [slope([heap(random, 1_000_000, leak=100)]) for _ in range(200)]
    assert sum(one.word == GROWS for one in found) > 0.95 * len(found)
    assert sum((one.low or 0) <= 100 <= (one.high or 0) for one in found) > 0.9 * len(found)
